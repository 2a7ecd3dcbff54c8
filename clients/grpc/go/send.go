package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	smsv1 "sms-grpc-example/gen/sms/v1"
)

// attemptTimeout bounds one attempt. Set a deadline on every call: grpc-go sets none, and a lost server would keep a
// call without one open.
const attemptTimeout = 5 * time.Second

// text is one message that this system wants to send.
type text struct {
	TenantID string `json:"tenant_id"`
	From     string `json:"from"`
	To       string `json:"to"`
	Body     string `json:"body"`
	Mode     string `json:"mode"`
}

// fingerprint is SHA-256 over everything that makes the request: the same key with another fingerprint is refused.
// Messaging compares it and does not compute it, so any stable encoding does; Go orders the members as in the struct.
func fingerprint(message text) []byte {
	encoded, err := json.Marshal(message)
	if err != nil {
		panic(err) // A struct of strings always has a JSON text.
	}
	sum := sha256.Sum256(encoded)
	return sum[:]
}

// sendOnce sends one message. However often it is called with this key, the message is sent once.
func sendOnce(
	ctx context.Context, messaging smsv1.MessagingServiceClient, key string, message text,
) (*smsv1.SendMessagesResponse, error) {
	mode := smsv1.Mode_MODE_LIVE
	if message.Mode == "test" {
		mode = smsv1.Mode_MODE_TEST
	}
	request := &smsv1.SendMessagesRequest{
		TenantId:       message.TenantID,
		Mode:           mode,
		Source:         smsv1.MessageSource_MESSAGE_SOURCE_API,
		Endpoint:       smsv1.SendEndpoint_SEND_ENDPOINT_SINGLE,
		IdempotencyKey: key,
		Fingerprint:    fingerprint(message),
		From:           message.From,
		Body:           message.Body,
		Recipients:     []*smsv1.Recipient{{To: message.To}},
	}
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		response, err := messaging.SendMessages(attempt, request)
		cancel()
		if err == nil || !isWorthAnother(err) {
			return response, err
		}
		pause := wait
		if asked, ok := retryDelay(err); ok {
			pause = asked
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// isWorthAnother is true for the statuses that may be retried, under the same key. No other status changes by itself.
func isWorthAnother(err error) bool {
	switch status.Code(err) {
	case codes.Aborted, codes.Unavailable, codes.Internal, codes.DeadlineExceeded:
		return true
	}
	return false
}

// reason is our error code and the wrong fields; an empty code when the status was made by a client or a proxy.
func reason(err error) (code string, metadata map[string]string, fields []string) {
	for _, detail := range status.Convert(err).Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			if detail.GetDomain() == "sms" {
				code, metadata = detail.GetReason(), detail.GetMetadata()
			}
		case *errdetails.BadRequest:
			for _, violation := range detail.GetFieldViolations() {
				fields = append(fields, violation.GetField()+"="+violation.GetReason())
			}
		}
	}
	return code, metadata, fields
}

// retryDelay is the wait that the service asks for.
func retryDelay(err error) (time.Duration, bool) {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration(), true
		}
	}
	return 0, false
}
