// Sends one message. Needs BASE_URL, API_KEY, SENDER_ID and TO in the environment.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	body, err := json.Marshal(map[string]string{
		"to": os.Getenv("TO"), "from": os.Getenv("SENDER_ID"), "body": "Your code is 123456",
	})
	if err != nil {
		log.Fatal(err)
	}
	request, err := http.NewRequest("POST", os.Getenv("BASE_URL")+"/v1/sms/messages", bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
	request.Header.Set("Content-Type", "application/json")

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	if response.StatusCode != http.StatusAccepted {
		log.Fatal(string(text))
	}
	var answer struct {
		Data struct{ ID, Status string }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Data.ID, answer.Data.Status)
}
