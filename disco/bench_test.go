package disco_test

import (
	"testing"

	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/webtest"
)

func BenchmarkDiscoverCached(b *testing.B) {
	alias := svchost.MustParse("alias.test")
	override := disco.NewServices(other, nil)
	c := client(webtest.Serve(answer(200, `{"modules.v1":"/m/","providers.v1":"/p/"}`)))
	c.Hosts.Aliases = map[svchost.Hostname]svchost.Hostname{alias: example}
	c.Hosts.Overrides = map[svchost.Hostname]*disco.Services{other: override}
	for name, host := range map[string]svchost.Hostname{"host": example, "alias": alias, "override": other} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Get(c.Discover(b.Context(), host))(b)
			}
		})
	}
}
