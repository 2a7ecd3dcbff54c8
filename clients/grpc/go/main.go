// Sends one message over gRPC: with an idempotency key, a second time under the same key, and then the refusals that a
// caller must know. clients/grpc/README.md says what it prints.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	smsv1 "sms-grpc-example/gen/sms/v1"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	connection, err := connect()
	if err != nil {
		return err
	}
	defer connection.Close()
	messaging := smsv1.NewMessagingServiceClient(connection)

	// The whole work has a limit too. The request id is in the logs of every service on the way.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "x-request-id", "example-"+os.Getenv("SMS_KEY"))

	message := text{
		TenantID: os.Getenv("SMS_TENANT"),
		From:     os.Getenv("SMS_FROM"),
		To:       os.Getenv("SMS_TO"),
		Body:     "Your parcel is on its way.",
		Mode:     os.Getenv("SMS_MODE"),
	}
	key := os.Getenv("SMS_KEY")

	first, err := sendOnce(ctx, messaging, key, message)
	if err != nil {
		return err
	}
	fmt.Println("sent", first.GetMessage().GetId(), first.GetReplayed())

	second, err := sendOnce(ctx, messaging, key, message)
	if err != nil {
		return err
	}
	fmt.Println("sent", second.GetMessage().GetId(), second.GetReplayed())

	other := message
	other.Body = "Another text."
	_, err = sendOnce(ctx, messaging, key, other)
	printRefusal(err)

	wrong := message
	wrong.To = "nobody"
	_, err = sendOnce(ctx, messaging, key+"-wrong", wrong)
	printRefusal(err)

	// A deadline that is too short: the call may or may not have been made, so only the same key is safe.
	short, stop := context.WithTimeout(ctx, time.Microsecond)
	defer stop()
	_, err = messaging.GetMessage(short, &smsv1.GetMessageRequest{
		TenantId: message.TenantID, MessageId: first.GetMessage().GetId(),
	})
	printRefusal(err)
	return nil
}

func printRefusal(err error) {
	code, _, fields := reason(err)
	fmt.Println(strings.TrimSpace(fmt.Sprint(
		"refused ", status.Code(err), " ", code, " ", strings.Join(fields, ","))))
}
