package auth

import (
	"context"
	"fmt"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
)

const environPrefix = "TF_TOKEN_"

// Environ returns the tokens in environ, strings NAME=VALUE as returned by [os.Environ]. A
// variable TF_TOKEN_HOST has the token of a host. In HOST, "__" stands for a hyphen and "_"
// for a dot; [svchost.FromWire] parses the result:
//
//	TF_TOKEN_example_com           example.com
//	TF_TOKEN_my__registry_test     my-registry.test
//	TF_TOKEN_xn____caf__dma_fr     café.fr
//	TF_TOKEN_example.com:8443      example.com:8443
//
// Variables with an invalid hostname or an empty value are ignored. An invalid value (see
// [NewToken]) is an error only for its host. If several variables have one host, the last
// name in byte order counts.
func Environ(environ []string) *Environment {
	values := map[string]string{}
	for _, entry := range environ {
		if rest, ok := strings.CutPrefix(entry, environPrefix); ok {
			if name, value, ok := strings.Cut(rest, "="); ok {
				values[name] = value
			}
		}
	}
	e := &Environment{chosen: map[svchost.Hostname]variable{}}
	for name, value := range values {
		// Three underscores become "-.", which is invalid.
		host, err := svchost.FromWire(strings.ReplaceAll(strings.ReplaceAll(name, "__", "-"), "_", "."))
		if err != nil || value == "" || name <= e.chosen[host].name {
			continue
		}
		token, err := NewToken(value)
		e.chosen[host] = variable{name, token, err}
	}
	return e
}

// An Environment is a [Source] of tokens in environment variables.
type Environment struct {
	chosen map[svchost.Hostname]variable
}

// A variable is a TF_TOKEN_ variable: its name without the prefix, and its token or the
// error of the value.
type variable struct {
	name  string
	token Token
	err   error
}

// Token returns the token of host.
func (e *Environment) Token(_ context.Context, host svchost.Hostname) (Token, error) {
	v := e.chosen[host]
	if v.err != nil {
		return Token{}, &SourceError{Host: host, Source: e.String(), Err: fmt.Errorf("variable %q: %w", e.Variable(host), v.err)}
	}
	return v.token, nil
}

// Variable returns the name of the variable for host, or "".
func (e *Environment) Variable(host svchost.Hostname) string {
	if v, ok := e.chosen[host]; ok {
		return environPrefix + v.name
	}
	return ""
}

// String returns "environment".
func (e *Environment) String() string { return "environment" }
