package disco

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"

	"github.com/tofureg/tofureg/failure"
)

// GrantAuthzCode is a login in the browser.
const GrantAuthzCode = "authz_code"

// An OAuthClient is the value of login.v1, see https://opentofu.org/docs/internals/login-protocol/.
type OAuthClient struct {
	ID               string   // "client"
	GrantTypes       []string // "grant_types", also unknown ones; if missing, GrantAuthzCode
	AuthorizationURL *url.URL // "authz", for the browser; not nil with GrantAuthzCode
	TokenURL         *url.URL // "token"; not nil with GrantAuthzCode or "password"
	MinPort, MaxPort int      // "ports" of the redirect URL on this machine; default 1024 to 65535
	Scopes           []string // "scopes"
}

// OAuthClient returns the value of LoginV1. The error is a *ServiceError, and wraps [failure.ErrInsecure] if
// the document came over http. With AllowHTTP the URLs may be http: a login must refuse them.
func (s *Services) OAuthClient() (*OAuthClient, error) {
	if s.doc.overHTTP {
		return nil, s.fail(LoginV1, fmt.Errorf("%w: the list of services came over http, so it may not say where to log in", failure.ErrInsecure))
	}
	m, err := s.member(LoginV1)
	if err != nil {
		return nil, err
	}
	client, err := s.oauthClient(m.raw)
	if err != nil {
		return nil, s.fail(LoginV1, err)
	}
	return client, nil
}

func (s *Services) oauthClient(raw json.RawMessage) (*OAuthClient, error) {
	o, err := parseObject(raw)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"client", "grant_types", "authz", "token", "ports", "scopes"} {
		if o[key].ambiguous {
			return nil, fmt.Errorf("%q is declared twice, with different values", key)
		}
	}
	const lowest, highest = 1024, math.MaxUint16
	c := &OAuthClient{GrantTypes: []string{GrantAuthzCode}, MinPort: lowest, MaxPort: highest}

	if m, ok := o["client"]; !ok {
		return nil, errors.New(`"client" is missing`)
	} else if m.raw[0] != '"' || json.Unmarshal(m.raw, &c.ID) != nil || c.ID == "" {
		return nil, errors.New(`"client" is not a non-empty string`)
	}

	if m, ok := o["grant_types"]; ok {
		var values []any
		if json.Unmarshal(m.raw, &values) != nil || values == nil { // null
			return nil, fmt.Errorf(`"grant_types" is not an array but %s`, kind(m.raw))
		}
		c.GrantTypes = nil
		for _, v := range values {
			if text, ok := v.(string); ok { // a value of another type is an unknown grant type
				c.GrantTypes = append(c.GrantTypes, text)
			}
		}
	}
	code, password := slices.Contains(c.GrantTypes, GrantAuthzCode), slices.Contains(c.GrantTypes, "password")
	if c.AuthorizationURL, err = s.endpoint(o, "authz", code); err != nil {
		return nil, err
	}
	if c.TokenURL, err = s.endpoint(o, "token", code || password); err != nil {
		return nil, err
	}

	if m, ok := o["ports"]; ok {
		var ports []float64
		isPort := func(n float64) bool { return n == math.Trunc(n) && lowest <= n && n <= highest }
		if json.Unmarshal(m.raw, &ports) != nil || len(ports) != 2 || !isPort(ports[0]) || !isPort(ports[1]) || ports[0] > ports[1] {
			return nil, fmt.Errorf(`"ports" is not a pair of ports between %d and %d`, lowest, highest)
		}
		c.MinPort, c.MaxPort = int(ports[0]), int(ports[1])
	}

	if m, ok := o["scopes"]; ok { // or null
		if json.Unmarshal(m.raw, &c.Scopes) != nil || slices.Contains(c.Scopes, "") {
			return nil, errors.New(`"scopes" is not an array of strings that are not empty`)
		}
	}
	return c, nil
}

// endpoint returns the URL of a member. If it is missing and not required, it is nil.
func (s *Services) endpoint(o object, key string, required bool) (*url.URL, error) {
	m, ok := o[key]
	if !ok && !required {
		return nil, nil
	}
	if !ok {
		return nil, fmt.Errorf("%q is missing", key)
	}
	u, err := s.resolve(m)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", key, err)
	}
	return u, nil
}
