package fetch_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/transport/fetch"
)

// A document of a service of one's own, within a limit.
func Example() {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"latest": "1.2.0"}`)
	}))
	defer server.Close()
	settings := &transport.Settings{HTTP: server.Client()} // trusts the certificate
	u, err := url.Parse(server.URL + "/releases.json")
	if err != nil {
		log.Fatal(err)
	}

	var answer struct{ Latest string }
	doc, err := fetch.Document(context.Background(), settings, fetch.Request{URL: u, Limit: 1 << 20})
	if err == nil {
		err = doc.DecodeJSON(&answer)
	}
	fmt.Println(answer.Latest, err)
	// Output: 1.2.0 <nil>
}
