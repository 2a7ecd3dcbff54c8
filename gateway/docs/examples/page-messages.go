// Lists the ids of all messages of a time span, page by page. Both bounds are sent, so that no
// message is missed or shown twice while new ones arrive. Needs BASE_URL, API_KEY, CREATED_AFTER
// and CREATED_BEFORE in the environment.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
)

type page struct {
	Data       []struct{ ID string }
	NextCursor *string `json:"next_cursor"`
}

func read(query url.Values) page {
	request, err := http.NewRequest("GET", os.Getenv("BASE_URL")+"/v1/messages?"+query.Encode(), nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		log.Fatal(response.Status)
	}
	var answer page
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		log.Fatal(err)
	}
	return answer
}

func main() {
	limit := os.Getenv("LIMIT")
	if limit == "" {
		limit = "100"
	}
	query := url.Values{
		"created_after":  {os.Getenv("CREATED_AFTER")},
		"created_before": {os.Getenv("CREATED_BEFORE")},
		"limit":          {limit},
	}
	for {
		answer := read(query)
		for _, message := range answer.Data {
			fmt.Println(message.ID)
		}
		if answer.NextCursor == nil {
			return
		}
		query.Set("cursor", *answer.NextCursor)
	}
}
