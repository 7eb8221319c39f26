package regclient

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/module"
)

// getHeader is the header that names a location.
const getHeader = "X-Terraform-Get"

// wireLocation is the wire form. What is not true, false or null in place of the
// second property is an error: on it depends where a token goes.
type wireLocation struct {
	Location               string `json:"location"`
	UseRegistryCredentials *bool  `json:"use_registry_credentials"`
}

// decodeLocation reads the answer to a request for base. Module and Version of the
// result are left to the caller.
func decodeLocation(resp *httpx.Response, base *url.URL) (*module.Location, error) {
	header := strings.TrimSpace(resp.Header.Get(getHeader))
	doc, err := decodeLocationBody(resp, header)
	if err != nil {
		return nil, err
	}
	answer := strings.TrimSpace(doc.Location)
	if doc.UseRegistryCredentials != nil {
		// The header has no part in this newer form.
		loc, err := module.DirectLocation(base, answer)
		if err != nil {
			return nil, err
		}
		loc.UseRegistryCredentials = *doc.UseRegistryCredentials
		return loc, nil
	}
	if answer == "" {
		answer = header
	}
	if answer == "" {
		return nil, errors.New("it names no location, neither in its body nor in a header " + getHeader)
	}
	loc, err := module.ResolveLocation(base, answer)
	if err != nil {
		return nil, err
	}
	if isLocal(loc) {
		return nil, fmt.Errorf("%w: a registry must not answer with %s", module.ErrLocal, loc)
	}
	return loc, nil
}

// decodeLocationBody reads the body. Beside a header it may be missing or be
// anything, but once it begins as an object it must be one, since a client that
// reads it and one that does not would go different ways.
func decodeLocationBody(resp *httpx.Response, header string) (doc wireLocation, err error) {
	body := bytes.TrimSpace(resp.Body)
	if len(body) == 0 || header != "" && body[0] != '{' {
		return wireLocation{}, nil
	}
	err = resp.DecodeObject(&doc)
	return doc, err
}

// isLocal tells whether a location is on this machine, by whatever means.
func isLocal(loc *module.Location) bool {
	return loc.Kind == module.KindLocal || strings.HasPrefix(strings.ToLower(loc.URL), "file:")
}
