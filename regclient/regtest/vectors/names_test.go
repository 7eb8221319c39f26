package vectors_test

import (
	"errors"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
)

// nameKind is the kind of an error about a name.
func nameKind(err error) string {
	var host *svchost.ParseError
	var addr *addrs.ParseError
	if errors.As(err, &host) || errors.As(err, &addr) {
		return "syntax"
	}
	return "other"
}

func TestHosts(t *testing.T) {
	type want struct{ ASCII, Display string }
	each(t, "hosts", 60, func(t *testing.T, c struct {
		Input, Parser, Error, Note, ASCII, Display string
	}) {
		parse := svchost.Parse
		if c.Parser == "wire" {
			parse = svchost.FromWire
		}
		h, err := parse(c.Input)
		result(t, want{h.String(), h.Display()}, want{c.ASCII, c.Display}, err, nameKind(err), c.Error)
		if err == nil {
			if again, err := parse(h.Display()); err != nil || again != h {
				t.Errorf("the display form is parsed as %v, %v", again, err)
			}
		}
	})
}

func TestProviders(t *testing.T) {
	type want struct{ Host, Namespace, Type, String string }
	each(t, "providers", 60, func(t *testing.T, c struct {
		Input, Error, Note, Host, Namespace, Type, String string
	}) {
		p, err := addrs.ParseProvider(c.Input)
		result(t, want{p.Host().String(), p.Namespace(), p.Type(), p.String()},
			want{c.Host, c.Namespace, c.Type, c.String}, err, nameKind(err), c.Error)
		if err == nil {
			if again, err := addrs.ParseProvider(p.String()); err != nil || again != p {
				t.Errorf("the string is parsed as %v, %v", again, err)
			}
		}
	})
}

func TestModules(t *testing.T) {
	type want struct{ Host, Namespace, Name, System, String string }
	each(t, "modules", 60, func(t *testing.T, c struct {
		Input, Error, Note, Host, Namespace, Name, System, String string
	}) {
		m, err := addrs.ParseModule(c.Input)
		result(t, want{m.Host().String(), m.Namespace(), m.Name(), m.System(), m.String()},
			want{c.Host, c.Namespace, c.Name, c.System, c.String}, err, nameKind(err), c.Error)
	})
}

func TestModuleSources(t *testing.T) {
	type want struct{ Module, Subdir string }
	each(t, "module-sources", 30, func(t *testing.T, c struct {
		Input, Error, Note, Module, Subdir string
	}) {
		s, err := addrs.ParseModuleSource(c.Input)
		result(t, want{s.Module.String(), s.Subdir}, want{c.Module, c.Subdir}, err, nameKind(err), c.Error)
	})
}
