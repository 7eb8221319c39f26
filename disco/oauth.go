package disco

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
)

// Grant types of an [OAuthClient].
const (
	GrantAuthzCode = "authz_code" // authorization code, by a browser
	GrantPassword  = "password"   // user name and password; undocumented
)

// An OAuthClient is the value of the service login.v1: how a program gets a token by OAuth 2.0,
// see https://opentofu.org/docs/internals/login-protocol/.
type OAuthClient struct {
	ID               string   // client identifier ("client")
	GrantTypes       []string // permitted, also unknown ones ("grant_types"); default GrantAuthzCode
	AuthorizationURL *url.URL // page for the browser ("authz"); not nil with GrantAuthzCode
	TokenURL         *url.URL // token endpoint ("token"); not nil with either known grant type
	MinPort, MaxPort int      // ports of the redirect URL on this machine ("ports"); default 1024 to 65535
	Scopes           []string // to request ("scopes")
}

// OAuthClient returns the value of [LoginV1]. For errors, see [Services.URL]. If the document came
// over http, the error wraps [ErrInsecure].
func (s *Services) OAuthClient() (*OAuthClient, error) {
	if s.doc.overHTTP {
		return nil, s.fail(LoginV1, fmt.Errorf("%w: the list of services came over http, so it may not say where to log in", ErrInsecure))
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
		return "", errors.New(`"client" is not a non-empty string`)
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
		// A value of another type is an unknown grant type.
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
	invalid := fmt.Errorf(`"ports" is not a pair of ports between %d and %d`, lowest, highest)
	if len(values) != 2 {
		return 0, 0, invalid
	}
	for i, port := range []*int{&first, &last} {
		number, ok := values[i].(float64)
		if !ok || number != math.Trunc(number) || number < lowest || number > highest {
			return 0, 0, invalid
		}
		*port = int(number)
	}
	if first > last {
		return 0, 0, invalid
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

// array returns the elements of a JSON array.
func (m member) array() ([]any, bool) {
	var values []any
	if m.raw[0] != '[' || json.Unmarshal(m.raw, &values) != nil {
		return nil, false
	}
	return values, true
}
