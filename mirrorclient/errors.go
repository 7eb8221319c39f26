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

// checkMediaType is as strict as the CLIs, which refuse such a mirror altogether: to
// be lenient here would only defer the trouble of whoever runs it.
func checkMediaType(resp *httpx.Response) error {
	if resp.Status != http.StatusOK {
		return errors.New("status 200 is wanted")
	}
	err := resp.CheckMediaType()
	if header := resp.Header.Get("Content-Type"); err != nil && strings.Contains(strings.ToLower(header), "html") {
		return fmt.Errorf("it is a web page (%s), not a document of a mirror: is the base URL right, and is a login needed?", weburl.Clean(header, 100))
	}
	if err != nil {
		return fmt.Errorf("%w: set it for .json files at the server that holds the mirror", err)
	}
	return nil
}

// What an answer looks like where the base URL is that of something else.
const (
	hintRegistry  = "it looks like the answer of a provider registry, which package regclient asks"
	hintDiscovery = "it looks like a discovery document, not like one of a mirror: the base URL must be that of the mirror itself"
)

// hintFor returns what may help whoever finds no provider at base, or "". Registries
// have no such documents, and are easily taken for mirrors of themselves.
func hintFor(base *url.URL, host svchost.Hostname, p addrs.Provider) string {
	switch {
	case strings.HasSuffix(base.Path, "/v1/providers/"):
		return "; the base URL looks like that of a provider registry, which package regclient asks"
	case host == p.Host() && base.Path == "/":
		return "; if " + host.Display() + " is the provider's registry and no mirror, package regclient asks it"
	}
	return ""
}
