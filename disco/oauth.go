package disco

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
)

// The grant types that an [OAuthClient] may have.
const (
	GrantAuthzCode = "authz_code" // authorization code, in a browser
	GrantPassword  = "password"   // user name and password; not documented any more
)

// An OAuthClient is what the service login.v1 declares: how a program gets a
// token for the host by OAuth 2.0. See
// https://opentofu.org/docs/internals/login-protocol/.
type OAuthClient struct {
	// ID identifies the program to the server ("client"). It is not empty and
	// not secret.
	ID string
	// GrantTypes lists what the server allows ("grant_types"). A host that says
	// nothing allows GrantAuthzCode. Unknown ones are kept.
	GrantTypes []string
	// AuthorizationURL is where a browser is sent ("authz"). It is not nil if
	// GrantTypes has GrantAuthzCode.
	AuthorizationURL *url.URL
	// TokenURL is where a code or a password becomes a token ("token"). It is
	// not nil if GrantTypes has GrantAuthzCode or GrantPassword.
	TokenURL *url.URL
	// MinPort and MaxPort are the first and the last port on which a program
	// may wait for the browser to come back ("ports"): 1024 and 65535 if the
	// host says nothing.
	MinPort, MaxPort int
	// Scopes lists what to ask for ("scopes"). It is often empty.
	Scopes []string
}

// OAuthClient returns what the service [LoginV1] declares. The caller may change
// it. The error is a [*ServiceError], as for [Services.URL].
func (s *Services) OAuthClient() (*OAuthClient, error) {
	m, err := s.find(LoginV1)
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
	for key, m := range o {
		if m.ambiguous && slices.Contains(oauthKeys, key) {
			return nil, fmt.Errorf("%q is declared twice, with different values", key)
		}
	}
	c := &OAuthClient{}
	if c.ID, err = o.clientID(); err != nil {
		return nil, err
	}
	if c.GrantTypes, err = o.grantTypes(); err != nil {
		return nil, err
	}
	code, password := slices.Contains(c.GrantTypes, GrantAuthzCode), slices.Contains(c.GrantTypes, GrantPassword)
	if c.AuthorizationURL, err = s.endpoint(o, "authz", code); err != nil {
		return nil, err
	}
	if c.TokenURL, err = s.endpoint(o, "token", code || password); err != nil {
		return nil, err
	}
	if c.MinPort, c.MaxPort, err = o.ports(); err != nil {
		return nil, err
	}
	if c.Scopes, err = o.scopes(); err != nil {
		return nil, err
	}
	return c, nil
}

var oauthKeys = []string{"client", "grant_types", "authz", "token", "ports", "scopes"}

func (o object) clientID() (string, error) {
	m, ok := o["client"]
	if !ok {
		return "", errors.New(`"client" is missing`)
	}
	var id string
	if m.raw[0] != '"' || json.Unmarshal(m.raw, &id) != nil || id == "" {
		return "", errors.New(`"client" is not a string with something in it`)
	}
	return id, nil
}

func (o object) grantTypes() ([]string, error) {
	m, ok := o["grant_types"]
	if !ok {
		return []string{GrantAuthzCode}, nil
	}
	values, ok := m.array()
	if !ok {
		return nil, fmt.Errorf(`"grant_types" is not an array but %s`, kind(m.raw))
	}
	var types []string
	for _, v := range values {
		// A kind of grant that is not even a string is one that we do not know.
		if text, ok := v.(string); ok {
			types = append(types, text)
		}
	}
	return types, nil
}

func (s *Services) endpoint(o object, key string, required bool) (*url.URL, error) {
	m, ok := o[key]
	if !ok && !required {
		return nil, nil
	}
	if !ok {
		return nil, fmt.Errorf("%q is missing", key)
	}
	text, err := m.text()
	if err != nil {
		return nil, fmt.Errorf("%q: %w", key, err)
	}
	u, err := s.resolve(text)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", key, err)
	}
	return u, nil
}

func (o object) ports() (first, last int, err error) {
	const lowest, highest = 1024, math.MaxUint16
	m, ok := o["ports"]
	if !ok {
		return lowest, highest, nil
	}
	values, ok := m.array()
	if !ok {
		return 0, 0, fmt.Errorf(`"ports" is not an array but %s`, kind(m.raw))
	}
	refused := fmt.Errorf(`"ports" is not a first and a last port between %d and %d`, lowest, highest)
	if len(values) != 2 {
		return 0, 0, refused
	}
	for i, port := range []*int{&first, &last} {
		number, ok := values[i].(float64)
		if !ok || number != math.Trunc(number) || number < lowest || number > highest {
			return 0, 0, refused
		}
		*port = int(number)
	}
	if first > last {
		return 0, 0, refused
	}
	return first, last, nil
}

func (o object) scopes() ([]string, error) {
	m, ok := o["scopes"]
	if !ok || m.raw[0] == 'n' {
		return nil, nil
	}
	values, ok := m.array()
	if !ok {
		return nil, fmt.Errorf(`"scopes" is not an array but %s`, kind(m.raw))
	}
	var scopes []string
	for _, v := range values {
		text, ok := v.(string)
		if !ok {
			return nil, errors.New(`"scopes" is not an array of strings`)
		}
		scopes = append(scopes, text)
	}
	return scopes, nil
}

// array returns the elements of a value that is an array.
func (m member) array() ([]any, bool) {
	var values []any
	if m.raw[0] != '[' || json.Unmarshal(m.raw, &values) != nil {
		return nil, false
	}
	return values, true
}
