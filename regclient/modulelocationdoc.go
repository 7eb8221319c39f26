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

// getHeader is the header with a location.
const getHeader = "X-Terraform-Get"

// wireLocation is the wire form. A flag other than true, false or null is an error, because it
// decides where a token goes.
type wireLocation struct {
	Location               string `json:"location"`
	UseRegistryCredentials *bool  `json:"use_registry_credentials"`
}

// decodeLocation decodes the answer to the request for base, without Module and Version.
func decodeLocation(resp *httpx.Response, base *url.URL) (*module.Location, error) {
	header := strings.TrimSpace(resp.Header.Get(getHeader))
	doc, err := decodeLocationBody(resp, header)
	if err != nil {
		return nil, err
	}
	answer := strings.TrimSpace(doc.Location)
	if doc.UseRegistryCredentials != nil {
		// This newer form does not use the header.
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
		return nil, errors.New("the answer has no location, neither in its body nor in the header " + getHeader)
	}
	loc, err := module.ResolveLocation(base, answer)
	if err != nil {
		return nil, err
	}
	if isLocal(loc) {
		return nil, fmt.Errorf("%w: a registry must not send the location %s", module.ErrLocal, loc)
	}
	return loc, nil
}

// decodeLocationBody decodes the body. If there is a header, the body may be anything that is not
// an object. An object must be valid: otherwise clients that read it and clients that do not
// would use different locations.
func decodeLocationBody(resp *httpx.Response, header string) (doc wireLocation, err error) {
	body := bytes.TrimSpace(resp.Body)
	if len(body) == 0 || header != "" && body[0] != '{' {
		return wireLocation{}, nil
	}
	err = resp.DecodeObject(&doc)
	return doc, err
}

// isLocal reports whether a location is on this machine.
func isLocal(loc *module.Location) bool {
	return loc.Kind == module.KindLocal || strings.HasPrefix(strings.ToLower(loc.URL), "file:")
}
