package transport_test

import (
	"crypto/tls"
	"crypto/x509"
	"log"
	"net/http"
	"net/url"
	"os"

	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
)

// A registry inside a company may have a certificate of a private authority. The authorities
// of the system stay trusted.
func ExampleSettings_customCA() {
	pool, err := x509.SystemCertPool()
	if err != nil {
		log.Fatal(err)
	}
	pem, err := os.ReadFile("/etc/ssl/company-ca.pem")
	if err != nil {
		log.Fatal(err)
	}
	if !pool.AppendCertsFromPEM(pem) {
		log.Fatal("company-ca.pem contains no certificate")
	}

	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{RootCAs: pool}
	web := &transport.Settings{HTTP: &http.Client{Transport: t}}
	_ = &regclient.Client{Transport: web} // and further clients
}

// A registry may require a client certificate (mutual TLS).
func ExampleSettings_clientCertificate() {
	certificate, err := tls.LoadX509KeyPair("client.pem", "client-key.pem")
	if err != nil {
		log.Fatal(err)
	}

	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
	web := &transport.Settings{HTTP: &http.Client{Transport: t}}
	_ = &regclient.Client{Transport: web} // and further clients
}

// This proxy replaces the proxy of the environment variables HTTPS_PROXY and NO_PROXY.
func ExampleSettings_proxy() {
	proxy := &url.URL{Scheme: "http", Host: "proxy.example.com:3128"}

	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = http.ProxyURL(proxy)
	web := &transport.Settings{HTTP: &http.Client{Transport: t}}
	_ = &regclient.Client{Transport: web} // and further clients
}
