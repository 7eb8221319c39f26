package vectors_test

import (
	"encoding/json"
	"errors"
	"github.com/tofureg/tofureg/failure"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/testkit/regtest/vectors"
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

func TestProviderVersions(t *testing.T) {
	testVersions(t, "provider-versions", 60, addrs.ParseVersion)
}

func TestModuleVersions(t *testing.T) {
	testVersions(t, "module-versions", 40, addrs.ParseModuleVersion)
}

func testVersions(t *testing.T, file string, least int, parse func(string) (addrs.Version, error)) {
	type want struct{ String, Prerelease, Metadata string }
	each(t, file, least, func(t *testing.T, c struct {
		Input, Error, Note, String, Prerelease, Metadata string
	}) {
		v, err := parse(c.Input)
		rest, meta, _ := strings.Cut(v.String(), "+")
		_, pre, _ := strings.Cut(rest, "-")
		if v.IsPrerelease() != (pre != "") {
			t.Errorf("%q: IsPrerelease() = %t, prerelease %q", c.Input, v.IsPrerelease(), pre)
		}
		result(t, want{v.String(), pre, meta}, want{c.String, c.Prerelease, c.Metadata}, err, nameKind(err), c.Error)
	})
}

func TestVersionOrder(t *testing.T) {
	each(t, "version-order", 5, func(t *testing.T, c struct {
		Versions []string
		Note     string
	}) {
		for sort, parse := range map[string]func(string) (addrs.Version, error){"provider": addrs.ParseVersion, "module": addrs.ParseModuleVersion} {
			var list []addrs.Version
			for _, text := range c.Versions {
				v, err := parse(text)
				switch {
				case err == nil:
					list = append(list, v)
				case sort == "provider": // modules cannot have the largest numbers
					t.Error(err)
				}
			}
			for i := range list {
				for j := range list {
					if got, want := list[i].Compare(list[j]), min(1, max(-1, i-j)); got != want {
						t.Errorf("Compare(%s, %s) = %d, want %d", list[i], list[j], got, want)
					}
				}
			}
		}
	})
}

// constraint is one case of the constraints.
type constraint struct {
	Input, Error, Note, String, Newest string
	Allowed                            []string
}

type constraintResult struct {
	String, Newest string
	Allowed        []string
}

func (c *constraint) want() constraintResult {
	return constraintResult{c.String, c.Newest, slices.Clip(c.Allowed)}
}

// listed returns the versions that the constraints of a file are tried with.
func listed(t *testing.T, file string, parse func(string) (addrs.Version, error)) []addrs.Version {
	t.Helper()
	data := must.Get(vectors.Files.ReadFile(file + ".json"))(t)
	var doc struct{ Versions []string }
	must.Do(t, json.Unmarshal(data, &doc))
	var list []addrs.Version
	for _, text := range doc.Versions {
		v := must.Get(parse(text))(t)
		list = append(list, v)
	}
	return list
}

// constraining is what both sorts of constraints have.
type constraining interface {
	String() string
	Allows(addrs.Version) bool
}

// allowed does the same for both sorts of constraints.
func allowed[C constraining](c C, list []addrs.Version, newest func(C) (addrs.Version, error)) (constraintResult, error) {
	r := constraintResult{String: c.String(), Allowed: []string{}}
	for _, v := range list {
		if c.Allows(v) {
			r.Allowed = append(r.Allowed, v.String())
		}
	}
	v, err := newest(c)
	if err != nil && !errors.Is(err, failure.ErrNoVersion) {
		return r, err
	}
	r.Newest = v.String()
	return r, nil
}

func TestProviderConstraints(t *testing.T) {
	list := listed(t, "provider-constraints", addrs.ParseVersion)
	versions := &provider.Versions{}
	for _, v := range list {
		versions.Versions = append(versions.Versions, provider.Release{Version: v})
	}
	each(t, "provider-constraints", 60, func(t *testing.T, c constraint) {
		parsed, err := addrs.ParseProviderConstraint(c.Input)
		got, other := allowed(parsed, list, versions.Newest)
		if other != nil {
			t.Error(other)
		}
		result(t, got, c.want(), err, nameKind(err), c.Error)
		if again, err := addrs.ParseProviderConstraint(c.String); err != nil || c.Error == "" && again != parsed {
			t.Errorf("the string is parsed as %v, %v", again, err)
		}
	})
}

func TestModuleConstraints(t *testing.T) {
	list := listed(t, "module-constraints", addrs.ParseModuleVersion)
	versions := &module.Versions{}
	for _, v := range list {
		versions.Versions = append(versions.Versions, module.Release{Version: v})
	}
	each(t, "module-constraints", 40, func(t *testing.T, c constraint) {
		parsed, err := addrs.ParseModuleConstraint(c.Input)
		got, other := allowed(parsed, list, versions.Newest)
		if other != nil {
			t.Error(other)
		}
		result(t, got, c.want(), err, nameKind(err), c.Error)
	})
}
