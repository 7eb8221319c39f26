package vectors_test

import (
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
)

func TestModuleLists(t *testing.T) {
	type want struct {
		Versions []string
		Warnings int
	}
	each(t, "module-lists", 25, func(t *testing.T, c struct {
		Name, Note, Module, Error string
		Exchange                  exchange
		want
	}) {
		client := &regclient.Client{Transport: &transport.Client{HTTP: c.Exchange.client(), Retries: -1}, Hosts: services(addrs.MustParseModule(c.Module).Host())}
		v, err := client.ModuleVersions(t.Context(), addrs.MustParseModule(c.Module))
		got := want{Versions: []string{}}
		if v != nil {
			got.Warnings = len(v.Warnings)
			for _, r := range v.List {
				got.Versions = append(got.Versions, r.Version.String())
			}
		}
		result(t, got, c.want, err, answerKind(err), c.Error)
	})
}

func TestModuleAnswers(t *testing.T) {
	each(t, "module-answers", 40, func(t *testing.T, c struct {
		Name, Note, Module, Version, Error string
		Exchange                           exchange
		Location                           module.Location
	}) {
		client := &regclient.Client{Transport: &transport.Client{HTTP: c.Exchange.client(), Retries: -1}, Hosts: services(addrs.MustParseModule(c.Module).Host())}
		loc, err := client.ModuleLocation(t.Context(), addrs.MustParseModule(c.Module), addrs.MustParseModuleVersion(c.Version))
		if loc == nil {
			loc = &module.Location{}
		}
		loc.Module, loc.Version = addrs.Module{}, addrs.Version{}
		result(t, shown(loc), shown(c.Location), err, answerKind(err), c.Error)
	})
}
