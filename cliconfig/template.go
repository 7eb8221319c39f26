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

// A template is the address of a repository with variables in it, such as
// "example.com/${namespace}/${type}". The CLI allows expressions of its language
// between the braces; here it must be the name of a variable.
type template []templatePart

// A templatePart is a literal text, or a variable if that is not empty.
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
			return nil, errors.New("between ${ and } there must be hostname, namespace or type; other expressions are not supported")
		}
		t = append(t, templatePart{variable: name})
		s = rest
	}
	return t, t.checkAddress()
}

// checkAddress makes sure that the result can be an address.
func (t template) checkAddress() error {
	host, name, ok := strings.Cut(t.expand(addrs.MustParseProvider("example.com/namespace/type")), "/")
	if _, err := svchost.FromWire(host); err != nil || !ok || name == "" || strings.ContainsAny(name, " \t\n") {
		return errors.New("it must give the address of a repository: a hostname, a slash and a name")
	}
	return nil
}

// checkVariables makes sure that each provider has a repository: what the patterns do
// not fix must be in the template. The CLI means the same, but passes over stars, so that
// acme/* beside */* fixes the namespace there.
func (t template) checkVariables(include []provider.Pattern) error {
	none := func(p provider.Pattern) bool { return p == provider.Pattern{} }
	if len(include) > 0 {
		if include = slices.DeleteFunc(slices.Clone(include), none); len(include) == 0 {
			return nil
		}
	}
	for i, variable := range templateVariables {
		values := map[string]bool{}
		for _, p := range include {
			values[strings.Split(p.String(), "/")[i]] = true
		}
		if (len(values) != 1 || values["*"]) && !slices.Contains(t, templatePart{variable: variable}) {
			return fmt.Errorf("it must contain ${%s}, because \"include\" selects more than one", variable)
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
