package regclient_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
)

func TestModuleVersions(t *testing.T) {
	t.Parallel()
	reg := listing("1.2.0", "1.10.0", "2.0.0-beta1", "1.9.0", "v0.1")
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "1.0.0", Properties: map[string]any{
		"deprecated": map[string]any{"reason": "too old", "link": "https://example.com/old"},
	}})
	versions := must.Get(client(reg).ModuleVersions(t.Context(), network))(t)
	want := "2.0.0-beta1\n1.10.0\n1.9.0\n1.2.0\n1.0.0 (deprecated: too old https://example.com/old)\n0.1.0\n"
	if got := releases(versions); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if versions.Module != network || versions.Warnings != nil {
		t.Errorf("module %s, warnings %q", versions.Module, versions.Warnings)
	}
	if best, err := versions.Newest(addrs.MustParseModuleConstraint("~> 1.0")); err != nil || best.String() != "1.10.0" {
		t.Errorf("newest %s, %v", best, err)
	}
	if r := reg.Requests(); len(r) != 2 || r[1].URL() != modulesURL+"acme/network/aws/versions" || r[1].Header.Get("Accept") != "application/json" {
		t.Errorf("requests %v", r)
	}
}

// TestModuleVersionsDocuments: documents of real and hostile servers.
func TestModuleVersionsDocuments(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Sections(t, "module-versions.txt") {
		doc, want, _ := strings.Cut(test.Text, "\n\n")
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			reg := listing("1.0.0")
			reg.AddFault(raw(regtest.ModuleVersions, doc))
			versions := must.Get(client(reg).ModuleVersions(t.Context(), network))(t)
			got := releases(versions)
			for _, w := range versions.Warnings {
				got += "warning: " + w + "\n"
			}
			if got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			if n := reg.Count(regtest.ModuleVersions); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

// TestUnknownModule: forms of "not found".
func TestUnknownModule(t *testing.T) {
	t.Parallel()
	unknown := addrs.MustParseModule(host + "/acme/unknown/aws")
	tests := []regtest.ModuleList{
		{}, {UnknownStatus: http.StatusGone},
		{UnknownBody: `{"modules":[]}`}, {UnknownBody: `{"modules":null}`}, {UnknownBody: `{"modules":[null]}`},
		{UnknownBody: `{"modules":[{}]}`}, {UnknownBody: `{"modules":[{"versions":null}]}`},
		{UnknownBody: `{"modules":[{"source":"acme/unknown/aws","versions":null}],"limit":100,"total":0}`},
		{UnknownStatus: http.StatusNotFound, UnknownBody: `<html>not found</html>`},
	}
	for _, how := range tests {
		reg := listing("1.0.0")
		reg.ModuleList = how
		c := client(reg)
		_, err := c.ModuleVersions(t.Context(), unknown)
		if asError(t, err); !errors.Is(err, failure.ErrNotFound) || errors.Is(err, failure.ErrNoVersion) {
			t.Errorf("%+v: ModuleVersions returned %v, want ErrNotFound", how, err)
		}
		_, err = c.ModuleLocation(t.Context(), unknown, v100)
		if e := asError(t, err); !errors.Is(err, failure.ErrNotFound) || errors.Is(err, failure.ErrNoVersion) || e.Status != http.StatusNotFound {
			t.Errorf("location, %+v: %v", how, err)
		}
	}
	_, err := client(listing("1.0.0")).ModuleVersions(t.Context(), unknown)
	want := "list versions of " + host + "/acme/unknown/aws: " + modulesURL + "acme/unknown/aws/versions: HTTP status 404: not found"
	if !strings.HasPrefix(err.Error(), want) {
		t.Errorf("text\n got %s\nwant %s…", err, want)
	}
}

func TestBrokenModuleVersions(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Read[struct{ Name, Doc, Want string }](t, "module-versions-broken.txt") {
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			reg := listing("1.0.0")
			reg.AddFault(raw(regtest.ModuleVersions, test.Doc))
			_, err := client(reg).ModuleVersions(t.Context(), network)
			if e := asError(t, err); e.Status != 200 || errors.Is(err, failure.ErrNotFound) || !strings.Contains(err.Error(), test.Want) {
				t.Errorf("error %v, want status 200 and %q", err, test.Want)
			}
		})
	}
}

func TestModuleVersionsLimits(t *testing.T) {
	t.Parallel()
	tests := map[string]func(n int) string{
		"versions": func(n int) string {
			return `{"modules":[{"versions":[` + strings.Repeat(`{"version":"1.0.0"},`, n-1) + `{"version":"1.0.0"}]}]}`
		},
		"members": func(n int) string {
			return `{"modules":[{"versions":[{"version":"1.0.0"}]}],"x":[` + numbers(n-1) + `]}`
		},
		"bytes": func(n int) string {
			doc := `{"modules":[{"versions":[{"version":"1.0.0"}]}]}`
			return doc + strings.Repeat(" ", n-len(doc))
		},
	}
	for name, limit := range map[string]int{"versions": 100_000, "members": 500_000, "bytes": 16 << 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n, want := range map[int]error{limit: nil, limit + 1: failure.ErrTooLarge} {
				c := answering(t, func() []byte { return []byte(tests[name](n)) })
				if _, err := c.ModuleVersions(t.Context(), network); !errors.Is(err, want) {
					t.Errorf("%d: %v, want %v", n, err, want)
				}
			}
		})
	}
}

// queries returns the queries of the requests for versions.
func queries(reg *regtest.Registry) []string {
	var list []string
	for _, r := range reg.Requests() {
		if r.Kind == regtest.ModuleVersions {
			list = append(list, r.Query)
		}
	}
	return list
}

// TestModulePages: further pages are requested.
func TestModulePages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		all  int
		how  regtest.ModuleList
		want []string // queries
	}{
		{"all at once", 250, regtest.ModuleList{}, []string{""}},
		{"one page that is full", 100, regtest.ModuleList{PageSize: 100}, []string{""}},
		{"one more", 101, regtest.ModuleList{PageSize: 100}, []string{"", "limit=1&offset=100"}},
		{"the rest in one", 250, regtest.ModuleList{PageSize: 100}, []string{"", "limit=150&offset=100"}},
		{"counts beside the versions", 250, regtest.ModuleList{PageSize: 100, TotalInModule: true}, []string{"", "limit=150&offset=100"}},
		{"nulls in each page", 250, regtest.ModuleList{PageSize: 100, Nulls: true}, []string{"", "limit=150&offset=100"}},
		{"a thousand at a time", 2500, regtest.ModuleList{PageSize: 100}, []string{"", "limit=1000&offset=100", "limit=1000&offset=1100", "limit=400&offset=2100"}},
		{
			"fewer than asked for", 250, regtest.ModuleList{PageSize: 50, MaxPageSize: 80},
			[]string{"", "limit=200&offset=50", "limit=120&offset=130", "limit=40&offset=210"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			reg := listing(many(test.all)...)
			reg.ModuleList = test.how
			versions := must.Get(client(reg).ModuleVersions(t.Context(), network))(t)
			newest := fmt.Sprintf("1.%d.0", test.all-1)
			if n := len(versions.Versions); n != test.all || versions.Versions[0].Version.String() != newest || versions.Versions[n-1].Version != v100 {
				t.Errorf("%d versions, want %d from %s to 1.0.0", n, test.all, newest)
			}
			if len(versions.Warnings) > 0 != test.how.Nulls {
				t.Errorf("warnings %q", versions.Warnings)
			}
			if got := queries(reg); !slices.Equal(got, test.want) {
				t.Errorf("asked %q, want %q", got, test.want)
			}
		})
	}
}

// TestModulePagesFail: if a page fails, the list has the versions so far and a warning.
func TestModulePagesFail(t *testing.T) {
	t.Parallel()
	const again = "the list of versions is incomplete: the registry counts 250 and sent 100: the next page has no new versions"
	tests := []struct {
		name    string
		how     regtest.ModuleList
		fault   regtest.Fault
		warning string
	}{
		{"the same page again", regtest.ModuleList{PageSize: 100, IgnoreQuery: true}, regtest.Fault{Kind: regtest.Other}, again},
		{"an empty page", regtest.ModuleList{PageSize: 100}, raw(regtest.ModuleVersions, `{"modules":[{"versions":[]}]}`), again},
		{"no page", regtest.ModuleList{PageSize: 100}, raw(regtest.ModuleVersions, `{"modules":[{}]}`), again},
		{"an invalid page", regtest.ModuleList{PageSize: 100}, raw(regtest.ModuleVersions, `<html>`), "counts 250 and sent 100: https://" + host + "/v1/modules/acme/network/aws/versions?...: "},
		{"a fault", regtest.ModuleList{PageSize: 100}, regtest.Fault{Kind: regtest.ModuleVersions, Status: 503}, "counts 250 and sent 100: https://" + host + "/v1/modules/acme/network/aws/versions?...: HTTP status 503: service unavailable"},
		{"not found", regtest.ModuleList{PageSize: 100}, regtest.Fault{Kind: regtest.ModuleVersions, Status: 404}, "HTTP status 404: not found"},
		{"connection lost", regtest.ModuleList{PageSize: 100}, regtest.Fault{Kind: regtest.ModuleVersions, Drop: true}, "counts 250 and sent 100: https://"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			reg := listing(many(250)...)
			reg.ModuleList = test.how
			test.fault.Skip = 1
			reg.AddFault(test.fault)
			versions := must.Get(client(reg).ModuleVersions(t.Context(), network))(t)
			if len(versions.Versions) != 100 {
				t.Errorf("%d versions, want 100", len(versions.Versions))
			}
			if w := versions.Warnings; len(w) != 1 || !strings.Contains(w[0], test.warning) || !strings.HasPrefix(w[0], "the list of versions is incomplete") {
				t.Errorf("warnings %q, want %q", w, test.warning)
			}
			if want := test.warning != again; versions.Partial != want {
				t.Errorf("Partial is %t, want %t", versions.Partial, want)
			}
			if n := reg.Count(regtest.ModuleVersions); n != 2 {
				t.Errorf("%d requests, want 2", n)
			}
		})
	}
}

// TestModulePagesByLimit: a list that states only its limit may end with a full page. A missing next page is
// the end then, any other failure is a warning.
func TestModulePagesByLimit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault   regtest.Fault
		warning string
	}{
		"missing":   {regtest.Fault{Status: 404}, ""},
		"refused":   {regtest.Fault{Status: 400}, ""},
		"forbidden": {regtest.Fault{Status: 403}, "HTTP status 403"},
		"at fault":  {regtest.Fault{Status: 503}, "HTTP status 503"},
		"lost":      {regtest.Fault{Drop: true}, "connection reset"},
	} {
		reg := listing(many(250)...)
		reg.ModuleList.PageSize = 100
		reg.AddFault(regtest.Fault{Kind: regtest.ModuleVersions, Edit: func(doc map[string]any) { delete(doc, "total") }})
		test.fault.Kind, test.fault.Skip = regtest.ModuleVersions, 1
		reg.AddFault(test.fault)
		versions := must.Get(client(reg).ModuleVersions(t.Context(), network))(t)
		w := versions.Warnings
		if len(versions.Versions) != 100 || len(w) > 0 != (test.warning != "") || len(w) > 0 && !strings.Contains(w[0], test.warning) {
			t.Errorf("%s: ModuleVersions returned %d versions and the warnings %q, want 100 and %q", name, len(versions.Versions), w, test.warning)
		}
	}
}

// TestModulePageSizeRefused: if a registry refuses large pages, small ones are requested.
func TestModulePageSizeRefused(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 422} {
		reg := listing(many(250)...)
		reg.ModuleList = regtest.ModuleList{PageSize: 100}
		reg.AddFault(regtest.Fault{Kind: regtest.ModuleVersions, Skip: 1, First: 1, Status: status})
		versions, err := client(reg).ModuleVersions(t.Context(), network)
		if err != nil || len(versions.Versions) != 250 || versions.Warnings != nil {
			t.Fatalf("ModuleVersions returned %v, %v, want 250 versions", versions, err)
		}
		want := []string{"", "limit=150&offset=100", "limit=100&offset=100", "limit=50&offset=200"}
		if got := queries(reg); !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
	}
}

// paged answers requests for versions with the result of page.
func paged(t *testing.T, page func(limit, offset int) string) (c *regclient.Client, asked *[]string) {
	t.Helper()
	asked = new([]string)
	c = answering(t, nil)
	c.Transport.HTTP = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		q := r.URL.Query()
		*asked = append(*asked, r.URL.RawQuery)
		limit, _ := strconv.Atoi(q.Get("limit"))
		offset, _ := strconv.Atoi(q.Get("offset"))
		return document(r, []byte(page(limit, offset))), nil
	})}
	return c, asked
}

// pageOf lists n versions from 1.FIRST.0 on. more has further members, such as `"limit":100`.
func pageOf(first, n int, more string) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"version":"1.%d.0"}`, first+i))
	}
	return `{"modules":[{"versions":[` + strings.Join(list, ",") + `]}]` + more + `}`
}

// TestModulePagesBytes: the limit of a document holds for all pages together, after inflation.
func TestModulePagesBytes(t *testing.T) {
	const limit, pages = 16 << 20, 8
	for _, more := range []int{0, 1} {
		sent := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			size := limit / pages
			if sent++; sent == pages {
				size += more
			}
			begin := fmt.Sprintf(`{"total":%d,"modules":[{"versions":[{"version":"%d`, pages, sent)
			const end = `"}]}]}`
			_, _ = io.WriteString(z, begin+strings.Repeat("x", size-len(begin)-len(end))+end)
		}))
		defer server.Close()
		c := answering(t, nil)
		c.Transport.AllowHTTP = true
		c.Transport.HTTP = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			runtime.GC()
			var m runtime.MemStats
			if runtime.ReadMemStats(&m); m.HeapAlloc > 50<<20 {
				t.Errorf("%d MiB are in use after %d pages", m.HeapAlloc>>20, sent)
			}
			there := *r
			there.URL, _ = url.Parse(server.URL)
			return http.DefaultTransport.RoundTrip(&there)
		})}
		_, err := c.ModuleVersions(t.Context(), network)
		if want := map[int]error{0: nil, 1: failure.ErrTooLarge}[more]; !errors.Is(err, want) || sent != pages {
			t.Errorf("%d bytes in %d pages: %v, want %v", limit+more, sent, err, want)
		}
		if more > 0 && !strings.Contains(fmt.Sprint(err), "more than 16777216 bytes in the pages of one list") {
			t.Errorf("text: %v", err)
		}
	}
}

// TestModulePageForms: forms in which a document announces further pages.
func TestModulePageForms(t *testing.T) {
	t.Parallel()
	const all = 25
	rest := func(offset, size int) int { return max(0, min(size, all-offset)) }
	tests := []struct {
		name    string
		page    func(limit, offset int) string
		asked   int
		n       int
		warning string
	}{
		{
			"numbers as texts", func(limit, offset int) string { return pageOf(offset, rest(offset, 10), `,"total":"25"`) }, 3, all, "",
		}, {
			"a total on the first page only", func(limit, offset int) string {
				if offset == 0 {
					return pageOf(0, 10, `,"total":25`)
				}
				return pageOf(offset, rest(offset, 10), "")
			}, 3, all, "",
		}, {
			"full pages of a stated size, and no total",
			func(_, offset int) string { return pageOf(offset, rest(offset, 10), `,"limit":10`) }, 3, all, "",
		}, {
			"a full page that is the last, and a server without offsets",
			func(int, int) string { return pageOf(0, 10, `,"limit":10`) }, 2, 10, "",
		}, {
			"a full page that is the last",
			func(_, offset int) string { return pageOf(offset, max(0, 10-offset), `,"limit":10`) }, 2, 10, "",
		}, {
			"a limit that is far away", func(int, int) string { return pageOf(0, 10, `,"limit":1000,"offset":0`) }, 1, 10, "",
		}, {
			"pages that overlap",
			func(_, offset int) string {
				first := max(0, offset-3)
				return pageOf(first, rest(first, 10), `,"total":25`)
			}, 3, all, "",
		}, {
			"a total that counts something else",
			func(int, int) string { return pageOf(0, 10, `,"total":123456`) }, 2, 10, "the registry counts 123456 and sent 10: the next page",
		}, {
			"a total with an empty list", func(int, int) string { return pageOf(0, 0, `,"total":5`) }, 1, 0, "the list of versions is incomplete: the registry counts 5 and sent 0",
		}, {
			"a limit that is used without an offset",
			func(limit, _ int) string { return pageOf(0, rest(0, max(limit, 10)), `,"total":25`) }, 2, 15, "the registry counts 25 and sent 15",
		}, {
			"a total that counts nulls and duplicates",
			func(limit, offset int) string {
				all := []string{`null`, `null`, `{"version":"1.0.0"}`, `{"version":"v1.0.0"}`, `{"version":"1.1.0"}`, `{"version":"1.2.0"}`}
				if limit == 0 {
					limit = 4
				}
				page := all[offset:min(offset+limit, len(all))]
				return `{"modules":[{"versions":[` + strings.Join(page, ",") + `]}],"total":6}`
			}, 2, 3, "version 1.0.0 is listed more than once",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, asked := paged(t, test.page)
			versions := must.Get(c.ModuleVersions(t.Context(), network))(t)
			if len(versions.Versions) != test.n || len(*asked) != test.asked {
				t.Errorf("%d versions by %q, want %d by %d requests", len(versions.Versions), *asked, test.n, test.asked)
			}
			if got := strings.Join(versions.Warnings, "\n"); (got == "") != (test.warning == "") || !strings.Contains(got, test.warning) || strings.Contains(got, "incomplete") && !strings.Contains(test.warning, "counts") {
				t.Errorf("warnings %q, want %q", got, test.warning)
			}
		})
	}
}

// TestModulePagesEnd: an endless list ends with a warning.
func TestModulePagesEnd(t *testing.T) {
	t.Parallel()
	c, asked := paged(t, func(_, offset int) string { return pageOf(offset, 10, `,"total":2000000000`) })
	versions, err := c.ModuleVersions(t.Context(), network)
	if err != nil || len(versions.Versions) != 1000 || len(*asked) != 100 {
		t.Fatalf("%d requests, %v", len(*asked), err)
	}
	if want := "the list of versions is incomplete: the registry counts 2000000000 and sent 1000: it has more than 100 pages"; !slices.Equal(versions.Warnings, []string{want}) {
		t.Errorf("warnings %q, want %q", versions.Warnings, want)
	}
	for _, junk := range []string{`"1.`, `"x`} { // versions, and what is not
		c, asked = paged(t, func(_, offset int) string {
			return strings.ReplaceAll(pageOf(offset, 40_000, `,"total":2000000000`), `"1.`, junk)
		})
		if _, err := c.ModuleVersions(t.Context(), network); !errors.Is(err, failure.ErrTooLarge) || len(*asked) != 3 {
			t.Errorf("versions %s: %d requests, %v", junk, len(*asked), err)
		}
	}
}

// TestModulePagesAndContext: the end of the context is an error, not a shorter list.
func TestModulePagesAndContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := listing(many(250)...)
		reg.ModuleList.PageSize = 100
		reg.AddFault(regtest.Fault{Kind: regtest.ModuleVersions, Skip: 1, Delay: time.Minute})
		c := client(reg)
		c.Transport.Timeout = -1
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		versions, err := c.ModuleVersions(ctx, network)
		if asError(t, err); !errors.Is(err, context.DeadlineExceeded) || versions != nil {
			t.Errorf("ModuleVersions returned %v, %v, want DeadlineExceeded", versions, err)
		}
	})
}

// TestWarningOfGapComesFirst: the warning about missing versions is the first one.
func TestWarningOfGapComesFirst(t *testing.T) {
	t.Parallel()
	c, _ := paged(t, func(_, offset int) string {
		return strings.ReplaceAll(pageOf(0, 200, `,"total":999`), `"1.`, `"bad`)
	})
	versions, err := c.ModuleVersions(t.Context(), network)
	if err != nil || len(versions.Warnings) != 102 || !strings.HasPrefix(versions.Warnings[0], "the list of versions is incomplete") {
		t.Errorf("%d warnings, %v", len(versions.Warnings), err)
	}
}

// TestModulePageQuery: the query of the URL of a service is not sent.
func TestModulePageQuery(t *testing.T) {
	t.Parallel()
	reg := listing(many(3)...)
	reg.ModuleList.PageSize = 2
	reg.Services = map[string]any{"modules.v1": "/v1/modules/?limit=7&key=value"}
	must.Get(client(reg).ModuleVersions(t.Context(), network))(t)
	for _, q := range queries(reg) {
		if v, err := url.ParseQuery(q); err != nil || v.Has("key") || len(v["limit"]) > 1 {
			t.Errorf("query %q", q)
		}
	}
}

// TestModulePagesLimit: the limit of versions holds for all pages together.
func TestModulePagesLimit(t *testing.T) {
	t.Parallel()
	const first, limit = 60_000, 100_000
	for total, want := range map[int]error{limit: nil, limit + 1: failure.ErrTooLarge} {
		requests := 0
		c := answering(t, func() []byte {
			requests++
			if requests == 1 {
				return []byte(pageOf(0, first, fmt.Sprintf(`,"total":%d`, total)))
			}
			return []byte(pageOf(first, total-first, fmt.Sprintf(`,"total":%d`, total)))
		})
		versions, err := c.ModuleVersions(t.Context(), network)
		if !errors.Is(err, want) || requests != 2 || err == nil && len(versions.Versions) != total {
			t.Errorf("%d in %d pages: %v, want %v", total, requests, err, want)
		}
	}
}
