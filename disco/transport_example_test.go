package disco_test

import (
	"crypto/tls"
	"crypto/x509"
	"log"
	"net/http"
	"net/url"
	"os"

	"github.com/tofureg/tofureg/disco"
)

// A registry inside a company may have a certificate of the company's own
// authority. The system's authorities stay trusted.
func ExampleClient_customCA() {
	pool, err := x509.SystemCertPool()
	if err != nil {
		log.Fatal(err)
	}
	pem, err := os.ReadFile("/etc/ssl/company-ca.pem")
	if err != nil {
		log.Fatal(err)
	}
	if !pool.AppendCertsFromPEM(pem) {
		log.Fatal("company-ca.pem holds no certificate")
	}

	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	client := disco.Client{HTTP: &http.Client{Transport: transport}}
	_ = &client // client.Discover(ctx, host)
}

// A registry may want to see a certificate of its client (mutual TLS).
func ExampleClient_clientCertificate() {
	certificate, err := tls.LoadX509KeyPair("client.pem", "client-key.pem")
	if err != nil {
		log.Fatal(err)
	}

	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
	client := disco.Client{HTTP: &http.Client{Transport: transport}}
	_ = &client // client.Discover(ctx, host)
}

// Without this, the proxy comes from HTTPS_PROXY and NO_PROXY in the
// environment.
func ExampleClient_proxy() {
	proxy := &url.URL{Scheme: "http", Host: "proxy.example.com:3128"}

	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(proxy)
	client := disco.Client{HTTP: &http.Client{Transport: transport}}
	_ = &client // client.Discover(ctx, host)
}
