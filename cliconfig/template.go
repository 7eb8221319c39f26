package cliconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/provider"
)

// A template is the address of a repository with variables, for example
// "example.com/${namespace}/${type}". The CLI also permits expressions in the braces.
type template []templatePart

// A templatePart is a literal text or a variable.
type templatePart struct{ literal, variable string }

var templateVariables = []string{"hostname", "namespace", "type"}

func parseTemplate(s string) (template, error) {
	var t template
	for s != "" {
		before, rest, found := strings.Cut(s, "${")
		if escaped := found && strings.HasSuffix(before, "$"); escaped {
			t = append(t, templatePart{literal: before + "{"})
			s = rest
			continue
		}
		if strings.Contains(before, "%{") {
			return nil, errors.New("directives with %{ are not supported")
		}
		t = append(t, templatePart{literal: before})
		if !found {
			break
		}
		name, rest, closed := strings.Cut(rest, "}")
		name = strings.TrimSpace(name)
		if !closed || !slices.Contains(templateVariables, name) {
			return nil, errors.New("expected hostname, namespace or type between ${ and }; other expressions are not supported")
		}
		t = append(t, templatePart{variable: name})
		s = rest
	}
	return t, t.checkAddress()
}

// checkAddress checks that the result is an address.
func (t template) checkAddress() error {
	host, name, ok := strings.Cut(t.expand(addrs.MustParseProvider("example.com/namespace/type")), "/")
	if _, err := svchost.FromWire(host); err != nil || !ok || name == "" || strings.ContainsAny(name, " \t\n") {
		return errors.New("the result must be a repository address: a hostname, a slash and a name")
	}
	return nil
}

// checkVariables checks that each provider has its own repository: the template must
// contain each variable that the patterns do not determine. The CLI ignores stars here: it
// assumes that acme/* and */* together determine the namespace.
func (t template) checkVariables(include []provider.Pattern) error {
	isZero := func(p provider.Pattern) bool { return p == provider.Pattern{} }
	if len(include) > 0 {
		if include = slices.DeleteFunc(slices.Clone(include), isZero); len(include) == 0 {
			return nil
		}
	}
	for i, variable := range templateVariables {
		values := map[string]bool{}
		for _, p := range include {
			values[strings.Split(p.String(), "/")[i]] = true
		}
		if (len(values) != 1 || values["*"]) && !slices.Contains(t, templatePart{variable: variable}) {
			return fmt.Errorf("it must contain ${%[1]s}, because \"include\" selects more than one %[1]s", variable)
		}
	}
	return nil
}

func (t template) expand(p addrs.Provider) string {
	values := map[string]string{"hostname": p.Host().String(), "namespace": p.Namespace(), "type": p.Type()}
	var b strings.Builder
	for _, part := range t {
		b.WriteString(part.literal)
		b.WriteString(values[part.variable])
	}
	return b.String()
}
