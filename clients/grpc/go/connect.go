package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// bearer sends the token of this system with every call. The service token is no API key.
type bearer struct {
	token string
	// overTLS refuses to send the token in clear; only a development stack has no TLS.
	overTLS bool
}

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.token}, nil
}

func (b bearer) RequireTransportSecurity() bool { return b.overTLS }

// connect opens one connection for the whole program. dns:/// with round_robin calls every replica of a service.
// SMS_GRPC_CA, SMS_GRPC_CERT and SMS_GRPC_KEY name PEM files for mutual TLS.
func connect() (*grpc.ClientConn, error) {
	transport, overTLS, err := transportCredentials()
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 60 * time.Second}),
	}
	if token := os.Getenv("SMS_GRPC_TOKEN"); token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer{token, overTLS}))
	}
	return grpc.NewClient("dns:///"+os.Getenv("SMS_GRPC_ADDRESS"), options...)
}

func transportCredentials() (credentials.TransportCredentials, bool, error) {
	authority := os.Getenv("SMS_GRPC_CA")
	if authority == "" {
		return insecure.NewCredentials(), false, nil
	}
	pem, err := os.ReadFile(authority)
	if err != nil {
		return nil, false, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, false, errors.New("SMS_GRPC_CA holds no certificate")
	}
	own, err := tls.LoadX509KeyPair(os.Getenv("SMS_GRPC_CERT"), os.Getenv("SMS_GRPC_KEY"))
	if err != nil {
		return nil, false, err
	}
	return credentials.NewTLS(&tls.Config{
		RootCAs:      roots,
		Certificates: []tls.Certificate{own},
		ServerName:   os.Getenv("SMS_GRPC_SERVER_NAME"),
		MinVersion:   tls.VersionTLS12,
	}), true, nil
}
