// Uses a client that oapi-codegen has generated, and prints what it saw as one JSON object.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"clients/sms"
)

var ctx = context.Background()

func main() {
	seen := map[string]any{}
	client := open("BASE_URL", "API_KEY")
	scheduledAt := time.Now().Add(time.Hour)
	single := sms.SingleSend{To: "+2348031234567", From: "Acme", Body: "Hello", SendAt: &scheduledAt}

	sent := must(client.SendMessageWithResponse(ctx, key("one"), single))
	message := sent.JSON202.Data
	seen["single"] = message.Status

	bulk := sms.BulkSend{To: []string{"+2348031234567", "not a number"}, From: "Acme", Body: "Hello"}
	var entries []string
	for _, entry := range must(client.SendBulkWithResponse(ctx, nil, bulk)).JSON202.Data.Messages {
		text := string(entry.Status)
		if entry.Error != nil {
			text += " " + entry.Error.Code
		}
		entries = append(entries, text)
	}
	seen["bulk"] = entries

	list := must(client.ListMessagesWithResponse(ctx, &sms.ListMessagesParams{
		Status: &[]sms.MessageStatus{sms.MessageStatusScheduled},
	}))
	seen["list"] = list.JSON200.Data[0].Id == message.Id

	read := must(client.GetMessageWithResponse(ctx, message.Id)).JSON200.Data
	seen["history"] = read.StatusHistory[0].Status

	cancelled := must(client.CancelMessageWithResponse(ctx, message.Id, nil, nil))
	seen["cancelled"] = cancelled.JSON200.Data.Error.Code

	stranger := must(open("BASE_URL", "WRONG_KEY").GetBalanceWithResponse(ctx))
	seen["unauthenticated"] = describe(*stranger.ApplicationproblemJSON401)

	poor := must(open("BASE_URL", "POOR_KEY").SendMessageWithResponse(ctx, nil, single))
	money := poor.ApplicationproblemJSON402
	seen["insufficientBalance"] = fmt.Sprintf("%d %s %s of %s %s",
		money.Status, money.Code, money.AvailableAmount, money.RequiredAmount, money.Currency)

	other := single
	other.Body = "Another text"
	reused := must(client.SendMessageWithResponse(ctx, key("one"), other))
	seen["conflict"] = describe(*reused.ApplicationproblemJSON409)

	single.To = "not a number"
	invalid := must(client.SendMessageWithResponse(ctx, nil, single)).ApplicationproblemJSON422
	seen["invalid"] = describe(*invalid) + " " + invalid.Errors[0].Field + " " + invalid.Errors[0].Code

	limited := open("BASE_URL", "LIMITED_KEY")
	for range 5 {
		answer := must(limited.GetBalanceWithResponse(ctx))
		if problem := answer.ApplicationproblemJSON429; problem != nil {
			seen["rateLimited"] = describe(*problem) + " " + answer.HTTPResponse.Header.Get("Retry-After")
			break
		}
	}

	future := open("FUTURE_URL", "API_KEY")
	later := must(future.GetMessageWithResponse(ctx, message.Id)).JSON200.Data
	seen["future"] = later.Source + " " + later.Channel + " " + later.Encoding
	seen["futureList"] = must(future.ListMessagesWithResponse(ctx, nil)).JSON200.Data[0].Source
	unknown := must(open("FUTURE_URL", "WRONG_KEY").GetBalanceWithResponse(ctx))
	seen["futureCode"] = describe(*unknown.ApplicationproblemJSON401)

	_ = json.NewEncoder(os.Stdout).Encode(seen)
}

func open(url, name string) *sms.ClientWithResponses {
	return must(sms.NewClientWithResponses(os.Getenv(url), sms.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+os.Getenv(name))
			return nil
		})))
}

func key(name string) *sms.SendMessageParams {
	key := "go-" + name
	return &sms.SendMessageParams{IdempotencyKey: &key}
}

func describe(problem sms.Problem) string {
	return fmt.Sprintf("%d %s", problem.Status, problem.Code)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
