package auth

import (
	"context"
	"fmt"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
)

const environPrefix = "TF_TOKEN_"

// Environ returns the tokens in environ, a list of NAME=VALUE
// strings such as [os.Environ] returns. The list is decoded once, here; a
// lookup takes the same time whatever its length.
//
// A variable named TF_TOKEN_ and a hostname, such as
// TF_TOKEN_registry_example_com, holds the token of that host. The prefix is
// in upper case. In the rest, read from left to right, each pair of underscores
// stands for a hyphen and each single underscore for a dot, because many shells
// allow neither in a name; a literal hyphen, dot or colon is accepted too. What
// results is read by [svchost.FromWire], so case does not matter and an
// international name may be in its ASCII form:
//
//	TF_TOKEN_example_com           example.com
//	TF_TOKEN_my__registry_test     my-registry.test
//	TF_TOKEN_xn____caf__dma_fr     café.fr
//	TF_TOKEN_example.com:8443      example.com:8443
//
// A variable whose name gives no hostname is ignored. An empty value means that
// there is no token, as if the variable were not set; the CLI would send an
// empty token. A value that cannot be a token (see [NewToken]) is an error for
// that host alone, which names the variable and does not show the value.
//
// Where several variables name one host, the last name in byte order counts:
// lower case wins over upper case, and an underscore over a dot or a hyphen.
// Where one name is set twice, its last value counts.
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
		host, err := svchost.FromWire(decodeName(name))
		if err != nil || value == "" || name <= e.chosen[host].name {
			continue
		}
		token, err := NewToken(value)
		e.chosen[host] = variable{name, token, err}
	}
	return e
}

// An Environment is a Source of the tokens in environment variables, see [Environ].
type Environment struct {
	chosen map[svchost.Hostname]variable
}

// A variable is one TF_TOKEN_ variable: its name without the prefix, and its
// token, or why the value is none.
type variable struct {
	name  string
	token Token
	err   error
}

// decodeName turns the rest of a variable's name into the hostname that it
// spells. Three underscores become "-.", which is in no hostname.
func decodeName(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "__", "-"), "_", ".")
}

// Token implements [Source].
func (e *Environment) Token(_ context.Context, host svchost.Hostname) (Token, error) {
	v := e.chosen[host]
	if v.err != nil {
		return Token{}, &SourceError{Host: host, Source: e.String(), Err: fmt.Errorf("variable %q: %w", e.Variable(host), v.err)}
	}
	return v.token, nil
}

// Variable returns the name of the variable that counts for host, or "" if there is none.
func (e *Environment) Variable(host svchost.Hostname) string {
	if v, ok := e.chosen[host]; ok {
		return environPrefix + v.name
	}
	return ""
}

// String returns "environment".
func (e *Environment) String() string { return "environment" }
