// Package webhook checks that a webhook request is genuine.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

const tolerance = 300 * time.Second

// IsGenuine tells whether the header signs these raw bytes with the secret, now.
// Read the body before parsing it.
func IsGenuine(header string, rawBody []byte, secret string, now time.Time) bool {
	var times, given []string
	for _, part := range strings.Split(header, ",") {
		key, value, hasValue := strings.Cut(part, "=")
		switch {
		case hasValue && key == "t":
			times = append(times, value)
		case hasValue && key == "v1":
			given = append(given, value)
		}
	}
	if len(times) == 0 || len(times[0]) > 12 {
		return false
	}
	t := times[0]
	seconds, err := strconv.ParseUint(t, 10, 40)
	if err != nil || now.Sub(time.Unix(int64(seconds), 0)).Abs() > tolerance {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(rawBody)
	wanted := hex.EncodeToString(mac.Sum(nil))
	for _, value := range given {
		if hmac.Equal([]byte(value), []byte(wanted)) {
			return true
		}
	}
	return false
}
