package cooldown_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cooldown"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/transport"
)

// A company's proxy offers versions a week after it has first seen them, except those of the company itself.
func Example_proxy() {
	upstream := &regclient.Client{Transport: &transport.Settings{HTTP: internet.Client()}} // in production, &regclient.Client{}
	week := cooldown.Rule{
		Age:   7 * 24 * time.Hour,
		Dates: &cooldown.Ledger{Store: &storage.Memory{}}, // in production, &storage.Dir{Path: "/var/lib/proxy"}
		Now:   func() time.Time { return today },          // in production, leave it out
	}
	providers := &cooldown.Providers{Source: upstream, Rule: week, Patterns: provider.Patterns{Exclude: []provider.Pattern{provider.MustParsePattern("example.com/*/*")}}}
	modules := &cooldown.Modules{Source: upstream, Rule: week, Exclude: []module.Pattern{module.MustParsePattern("example.com/*/*/*")}}

	// https://public.proxy.example.com stands for registry.opentofu.org, and https://own.proxy.example.com for example.com.
	public := &regserve.Handler{Providers: providers, Modules: modules}
	own := &regserve.Handler{Providers: providers, Modules: modules, Host: svchost.MustParse("example.com")}
	proxy := http.NewServeMux()
	proxy.Handle("public.proxy.example.com/", public)
	proxy.Handle("own.proxy.example.com/", own)

	ask := func(host string) {
		w := httptest.NewRecorder()
		proxy.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "https://"+host+"/v1/modules/acme/network/aws/versions", nil))
		fmt.Println(host, strings.Count(w.Body.String(), `"version":`))
	}
	ask("public.proxy.example.com")
	ask("own.proxy.example.com")

	list, err := modules.ModuleVersions(context.Background(), addrs.MustParseModule("acme/network/aws"))
	if err != nil {
		log.Fatal(err)
	}
	_, err = list.Newest(addrs.MustParseModuleConstraint(">= 1.1.0"))
	fmt.Println(err)
	// Output:
	// public.proxy.example.com 1
	// own.proxy.example.com 2
	// choose a version of registry.opentofu.org/acme/network/aws: each version that matches ">= 1.1.0" is held back until it is old enough: 1.1.0 (seen 2026-11-27 11:00 UTC, old enough 2026-12-04 11:00 UTC)
}
