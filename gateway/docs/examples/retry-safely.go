// Sends one message exactly once, through errors and lost responses: every attempt carries the same
// Idempotency-Key. Gives up after an hour, long before the key is forgotten (24 hours): look for the
// message then, before it is sent again. Needs BASE_URL, API_KEY, SENDER_ID, TO and IDEMPOTENCY_KEY
// in the environment.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"
)

type message struct{ ID, Status string }

// isWorthAnother: a proxy on the way may answer 502, 503 or 504, and not in JSON. Of 409 only conflict
// passes by itself.
func isWorthAnother(status int, text []byte) bool {
	if status == http.StatusConflict {
		var problem struct{ Code string }
		return json.Unmarshal(text, &problem) == nil && problem.Code == "conflict"
	}
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500
}

var client = &http.Client{Timeout: 30 * time.Second}

// attempt answers the accepted message, or how long to wait (0: as the back-off says).
func attempt(body []byte) (*message, time.Duration) {
	request, err := http.NewRequest("POST", os.Getenv("BASE_URL")+"/v1/sms/messages", bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", os.Getenv("IDEMPOTENCY_KEY"))

	response, err := client.Do(request)
	if err != nil {
		// No answer came. The message may have been accepted; the key makes asking again safe.
		return nil, 0
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, 0
	}
	if response.StatusCode == http.StatusAccepted {
		var answer struct{ Data message }
		if err := json.Unmarshal(text, &answer); err != nil {
			log.Fatal(err)
		}
		return &answer.Data, 0
	}
	if !isWorthAnother(response.StatusCode, text) {
		log.Fatal(string(text))
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return nil, time.Duration(seconds) * time.Second
}

func main() {
	body, err := json.Marshal(map[string]string{
		"to": os.Getenv("TO"), "from": os.Getenv("SENDER_ID"), "body": "Your code is 123456",
	})
	if err != nil {
		log.Fatal(err)
	}
	if os.Getenv("IDEMPOTENCY_KEY") == "" {
		log.Fatal("IDEMPOTENCY_KEY is not set")
	}
	giveUpAt := time.Now().Add(time.Hour)
	for backOff := time.Second; time.Now().Before(giveUpAt); backOff = min(time.Minute, 2*backOff) {
		accepted, wait := attempt(body)
		if accepted != nil {
			fmt.Println(accepted.ID, accepted.Status)
			return
		}
		if wait == 0 {
			wait = backOff
		}
		time.Sleep(wait)
	}
	log.Fatal("no answer within an hour: look for the message before sending it again")
}
