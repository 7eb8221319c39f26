package auth

import (
	"context"
	"fmt"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
)

const environPrefix = "TF_TOKEN_"

// Environ returns a Source of the tokens in environ, a list of NAME=VALUE
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
func Environ(environ []string) Source {
	values := map[string]string{}
	for _, entry := range environ {
		if rest, ok := strings.CutPrefix(entry, environPrefix); ok {
			if name, value, ok := strings.Cut(rest, "="); ok {
				values[name] = value
			}
		}
	}
	chosen := map[svchost.Hostname]variable{}
	for name, value := range values {
		host, err := svchost.FromWire(decodeName(name))
		if err == nil && value != "" && name > chosen[host].name {
			chosen[host] = variable{name, value}
		}
	}
	e := &environment{tokens: map[svchost.Hostname]Token{}, errs: map[svchost.Hostname]error{}}
	for host, v := range chosen {
		token, err := NewToken(v.value)
		if err != nil {
			e.errs[host] = fmt.Errorf("variable %q: %w", environPrefix+v.name, err)
			continue
		}
		e.tokens[host] = token
	}
	return e
}

// A variable is one TF_TOKEN_ variable: its name without the prefix, and its
// value.
type variable struct{ name, value string }

// decodeName turns the rest of a variable's name into the hostname that it
// spells. Three underscores become "-.", which is in no hostname.
func decodeName(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "__", "-"), "_", ".")
}

type environment struct {
	tokens map[svchost.Hostname]Token
	errs   map[svchost.Hostname]error
}

func (e *environment) Token(_ context.Context, host svchost.Hostname) (Token, error) {
	if err := e.errs[host]; err != nil {
		return Token{}, &SourceError{Host: host, Source: e.String(), Err: err}
	}
	return e.tokens[host], nil
}

func (e *environment) String() string { return "environment" }
