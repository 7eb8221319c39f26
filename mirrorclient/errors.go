package mirrorclient

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/weburl"
)

// checkMediaType refuses what the CLIs refuse, so that the operator of a mirror notices it.
func checkMediaType(resp *httpx.Response) error {
	if resp.Status != http.StatusOK {
		return errors.New("want status 200")
	}
	err := resp.CheckMediaType()
	if header := resp.Header.Get("Content-Type"); err != nil && strings.Contains(strings.ToLower(header), "html") {
		return fmt.Errorf("got a web page (%s): check the base URL and whether the mirror needs a login", weburl.Clean(header, 100))
	}
	if err != nil {
		return fmt.Errorf("%w: configure the mirror's web server to send it for .json files", err)
	}
	return nil
}

// Hints for a base URL that belongs to another kind of server.
const (
	hintRegistry  = "the document looks like an answer of a provider registry: use package regclient for a registry"
	hintDiscovery = "the document looks like a discovery document: set the base URL of the mirror"
)

// hintFor returns a hint for a provider that was not found, or "". Users often set the URL of a
// registry, which has no such documents.
func hintFor(base *url.URL, host svchost.Hostname, p addrs.Provider) string {
	switch {
	case strings.HasSuffix(base.Path, "/v1/providers/"):
		return "; the base URL looks like a provider registry: use package regclient for a registry"
	case host == p.Host() && base.Path == "/":
		return "; if " + host.Display() + " is the provider's registry, use package regclient"
	}
	return ""
}
