package hostile_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// redirection is a redirect, and what a client does. HOST stands for the host of the request.
type redirection struct {
	Name, Redirect string
	Follow, Token  bool // Token stays
	Status, Hops   int
	AllowHTTP      bool
	Want           string // empty accepts any error
}

func redirections(t *testing.T) []redirection { return casetest.Read[redirection](t, "redirects.txt") }

func (r *redirection) fault() regtest.Fault {
	return regtest.Fault{Redirect: r.Redirect, Status: r.Status, Hops: r.Hops}
}

// TestRedirects: for each operation, which redirects are followed and which hosts see the token.
func TestRedirects(t *testing.T) {
	t.Parallel()
	kinds := map[string]error{"ErrInsecure": failure.ErrInsecure, "ErrTooLarge": failure.ErrTooLarge}
	for _, op := range operations {
		for _, test := range redirections(t) {
			t.Run(op.name+"/"+test.Name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.allowHTTP = test.AllowHTTP
				f := test.fault()
				f.Host = op.host
				f.Redirect = strings.NewReplacer("HOST", op.host, "CAPITALS", strings.ToUpper(op.host)).Replace(f.Redirect)
				run := op.ready(t, w, f, regtest.Fault{Host: elsewhere, RefuseToken: true}) // as object stores do
				_, err := run(t.Context())
				if test.Follow != (err == nil) {
					t.Fatalf("followed: %v, want %v: %v", err == nil, test.Follow, err)
				}
				if err != nil {
					each(err, func(err error) { secretless(t, "the error", err.Error(), "pa55word", "qu3ry") })
					if got := typed(t, err); got.attempts != 1 || got.status != cmp.Or(f.Status, http.StatusFound) {
						t.Errorf("%+v in the error, want one attempt, and the status of the redirect", got)
					}
					if want, ok := kinds[test.Want]; test.Want != "" && (!ok || !errors.Is(err, want)) || errors.Is(err, failure.ErrNotFound) {
						t.Errorf("error %v, want %v", err, test.Want)
					}
				}
				op.checkHops(t, w, test.Follow, test.Token)
			})
		}
	}
}

// checkHops checks which hosts saw the token, and that no host got a Referer.
func (op *operation) checkHops(t *testing.T, w *world, followed, stays bool) {
	t.Helper()
	hop := 0
	for _, q := range w.reg.Requests() {
		if q.Referer != "" {
			t.Errorf("%v tells where it comes from: %s", q, q.Referer)
		}
		if !op.is(q) {
			continue
		}
		want := ""
		if op.token != "" && (hop == 0 || stays || !followed && q.Host == op.host && q.Scheme == "https") {
			want = "Bearer " + op.token
		}
		if q.Authorization != want {
			t.Errorf("request %d, %v, has Authorization %q, want %q", hop, q, q.Authorization, want)
		}
		if !followed && (q.Host != op.host || q.Scheme != "https") {
			t.Errorf("%v was made", q)
		}
		hop++
	}
	if followed && hop < 2 {
		t.Errorf("%d requests", hop)
	}
}

// TestRedirectLimits: the maximum number of redirects is followed, and one more is an error.
func TestRedirectLimits(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		for _, more := range []int{0, 1} {
			w := newWorld(t)
			run := op.ready(t, w, regtest.Fault{Hops: op.hops + more})
			_, err := run(t.Context())
			if (err == nil) != (more == 0) {
				t.Errorf("%s: %d redirects: %v", op.name, op.hops+more, err)
			}
			if err != nil {
				typed(t, err)
			}
		}
	}
}

// indirect returns answers that name URLs below base.
func indirect(base string) map[string]regtest.Fault {
	sets := func(kind regtest.Kind, member, name string) regtest.Fault {
		return regtest.Fault{Kind: kind, Edit: func(doc map[string]any) { doc[member] = base + name }}
	}
	header := http.Header{"X-Terraform-Get": {base + "x.tar.gz"}}
	body := sets(regtest.ModuleLocation, "location", "x.tar.gz")
	body.Path = "/plain/"
	return map[string]regtest.Fault{
		"service": {Kind: regtest.Discovery, Edit: func(doc map[string]any) {
			doc["providers.v1"], doc["modules.v1"] = base+"v1/providers/", base+"v1/modules/"
		}},
		"archive":       sets(regtest.Package, "download_url", "x.zip"),
		"sums":          sets(regtest.Package, "shasums_url", "x"),
		"signature":     sets(regtest.Package, "shasums_signature_url", "x"),
		"module body":   body,
		"module header": {Kind: regtest.ModuleLocation, Path: "/paged/", Header: header},
		"page's tag":    {Kind: regtest.ModulePage, Raw: []byte(`<meta name="terraform-get" content="` + base + `x.tar.gz">`)},
		"page's header": {Kind: regtest.ModulePage, Header: header},
		"mirror archive": {Kind: regtest.MirrorVersion, Edit: func(doc map[string]any) {
			for _, a := range doc["archives"].(map[string]any) {
				a.(map[string]any)["url"] = base + "x.zip"
			}
		}},
	}
}

// eachVerb runs all verbs with a fault, and calls check after those that met it, of which there must be one.
func eachVerb(t *testing.T, f regtest.Fault, veto func(string) error, check func(w *world, err error)) {
	t.Helper()
	hit := false
	for _, verb := range verbs {
		w := newWorld(t)
		w.veto = veto
		w.reg.AddFault(f)
		err := verb(t.Context(), w, t.TempDir())
		if slices.ContainsFunc(w.reg.Requests(), func(q regtest.Request) bool { return q.Kind == f.Kind && strings.Contains(q.Path, f.Path) }) {
			hit = true
			check(w, err)
		}
	}
	if !hit {
		t.Error("no verb goes this way")
	}
}

// TestInsecureURLs: the rules for redirects also hold for URLs in documents, pages and headers.
func TestInsecureURLs(t *testing.T) {
	t.Parallel()
	for name, f := range indirect("http://" + elsewhere + "/") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachVerb(t, f, nil, func(w *world, err error) {
				if typed(t, err); !errors.Is(err, failure.ErrInsecure) {
					t.Errorf("error %v, want ErrInsecure", err)
				}
				for _, q := range w.reg.Requests() {
					if q.Scheme != "https" {
						t.Errorf("%v was made", q)
					}
				}
			})
		})
	}
}

// transient are faults that may be temporary.
var transient = map[string]regtest.Fault{
	"429": {Status: 429}, "500": {Status: 500}, "502": {Status: 502}, "503": {Status: 503}, "504": {Status: 504}, "599": {Status: 599},
	"reset":                  {Drop: true},
	"no answer":              {Delay: time.Hour},
	"busy for two seconds":   {Status: 503, RetryAfter: "2"},
	"busy for a long time":   {Status: 429, RetryAfter: "86400"},
	"busy until a date":      {Status: 503, RetryAfter: "Sat, 01 Jan 2000 09:00:00 GMT"},
	"limit of requests":      {Status: 429, Header: http.Header{"X-Ratelimit-Reset": {"3"}}},
	"cut after no byte":      {Break: "cut"},
	"silent after no byte":   {Break: "stall"},
	"one byte, in documents": {Break: "cut", After: 1},
}

// permanent are faults that another attempt would find again.
var permanent = map[string]regtest.Fault{
	"400": {Status: 400}, "401": {Status: 401}, "402": {Status: 402}, "403": {Status: 403}, "404": {Status: 404}, "405": {Status: 405},
	"408": {Status: 408}, "410": {Status: 410}, "418": {Status: 418}, "451": {Status: 451}, "501": {Status: 501}, "300": {Status: 300},
	"304":                {Status: 304},
	"redirect, no place": {Status: 302},
	"loop":               {Hops: -1},
	"to http":            {Redirect: "http://" + elsewhere},
}

// TestAttempts: a transient fault is attempted as often as the client is configured, and no layer
// repeats the operation.
func TestAttempts(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		for name, fault := range transient {
			if name == "one byte, in documents" && op.streams() {
				continue // a stream of which a byte has arrived has all attempts before it
			}
			for _, retries := range []int{-1, 0, 4} {
				t.Run(fmt.Sprintf("%s/%s/%d", op.name, name, retries), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						attempts := map[int]int{-1: 1, 0: 3, 4: 5}[retries]
						status := fault.Status
						if fault.Break != "" {
							status = http.StatusOK
						}
						f, n := fails(t, op, fault, retries)
						if want := (outcome{status, attempts, op.token != ""}); n[op.kind] != attempts || f != want {
							t.Errorf("%d requests, %+v in the error; want %+v", n[op.kind], f, want)
						}
						once(t, op, n, attempts)
					})
				})
			}
		}
	}
}

// TestNoSecondAttempt: a permanent fault is not repeated.
func TestNoSecondAttempt(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		for name, fault := range permanent {
			if op.kind == regtest.Discovery && (fault.Status == 404 || fault.Status == 410) {
				continue // says that the host has no services
			}
			t.Run(op.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, n := fails(t, op, fault, 0)
					want := 1
					if fault.Hops < 0 {
						want += op.hops
					}
					if n[op.kind] != want || f.attempts != 1 || fault.Status != 0 && f.status != fault.Status {
						t.Errorf("%d requests, %+v in the error; want one attempt", n[op.kind], f)
					}
					once(t, op, n, 1)
				})
			})
		}
	}
}

// fails runs an operation that must fail, and returns its error and the number of requests of each
// kind.
func fails(t *testing.T, op operation, fault regtest.Fault, retries int) (outcome, map[regtest.Kind]int) {
	t.Helper()
	w := newWorld(t)
	w.retries = retries
	if retries > 0 {
		w.throttled()
	}
	run := op.ready(t, w, fault)
	result, err := run(t.Context())
	if err == nil {
		t.Fatalf("no error, but %v", result)
	}
	return typed(t, err), w.count()
}

// once checks that other requests are not repeated. After a refusal, one list of versions may be
// requested.
func once(t *testing.T, op operation, n map[regtest.Kind]int, attempts int) {
	t.Helper()
	for kind, count := range n {
		if kind != op.kind && count > 1 {
			t.Errorf("%d requests for the %s, as the %s was asked for %d times", count, kind, op.kind, attempts)
		}
	}
}
