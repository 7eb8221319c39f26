package mirrorclient

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/httpx"
)

// parseBase checks a base URL and adds the slash at its end. Host is zero if the URL has an IPv6
// address, which cannot have a token.
func parseBase(client *httpx.Client, text string) (base *url.URL, host svchost.Hostname, err error) {
	if text == "" {
		return nil, host, errors.New("Client.BaseURL is empty")
	}
	u, err := httpx.ParseReference(text)
	if err == nil && u.Scheme == "" {
		err = errors.New("the URL does not start with https://")
	}
	if err == nil {
		err = client.CheckURL(u)
	}
	if err == nil && (u.RawQuery != "" || u.ForceQuery) {
		err = errors.New("the URL has a query")
	}
	if err == nil && !strings.HasPrefix(u.Host, "[") {
		host, err = svchost.FromWire(u.Host)
	}
	if err != nil {
		// The text does not name the URL, which may contain a password.
		return nil, host, fmt.Errorf("Client.BaseURL: %w", err)
	}
	return httpx.Endpoint(u, ""), host, nil
}
