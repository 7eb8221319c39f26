package mirrorclient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestIndexStatus checks the kind of error for each status.
func TestIndexStatus(t *testing.T) {
	t.Parallel()
	kinds := []error{provider.ErrNotFound, provider.ErrUnauthorized, provider.ErrNoVersion}
	for status, kind := range map[int]error{
		404: provider.ErrNotFound, 410: provider.ErrNotFound,
		401: provider.ErrUnauthorized, 403: provider.ErrUnauthorized,
		400: nil, 418: nil, 429: nil, 500: nil, 501: nil, 503: nil,
		201: nil, 203: nil, 204: nil, 206: nil,
	} {
		web := mirror(nil)
		web.pages[alphaURL+"index.json"] = page{status: status, body: `{"versions":{}}`}
		_, err := client(web).ProviderVersions(t.Context(), alpha)
		e := asError(t, err)
		if e.Status != status || e.Op != "list versions of" || e.Subject != alpha.String() || e.HadToken || e.Attempts != 1 {
			t.Errorf("%d: %+v", status, e)
		}
		for _, k := range kinds {
			if errors.Is(err, k) != (k == kind) {
				t.Errorf("%d: %v is %v: %t", status, err, k, k != kind)
			}
		}
	}
}

func TestNotFoundText(t *testing.T) {
	t.Parallel()
	_, err := client(mirror(nil)).ProviderVersions(t.Context(), alpha)
	want := "list versions of registry.example.com/acme/alpha: " + alphaURL + `index.json: HTTP status 404: not found, the server says "no such page"`
	if asError(t, err).Error() != want {
		t.Errorf("\n got %s\nwant %s", err, want)
	}
}

// TestRegistryInstead checks that the error has a hint if the base URL is the URL of a registry.
func TestRegistryInstead(t *testing.T) {
	t.Parallel()
	for base, hint := range map[string]string{
		"https://registry.example.com/":               "if registry.example.com is the provider's registry, use package regclient",
		"https://registry.example.com:443":            "if registry.example.com is the provider's registry, use",
		"https://registry.opentofu.org/v1/providers/": "looks like a provider registry",
		"https://mirror.example.com/":                 "",
		"https://registry.example.com/mirror/":        "",
	} {
		c := client(mirror(nil))
		c.BaseURL = base
		_, err := c.ProviderVersions(t.Context(), alpha)
		if !errors.Is(err, provider.ErrNotFound) || !strings.Contains(err.Error(), hint) || hint == "" && strings.Contains(err.Error(), "regclient") {
			t.Errorf("%s: %v, want %q in it", base, err, hint)
		}
	}
}

// TestUnauthorized checks that the error says whether a token was sent.
func TestUnauthorized(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 403} {
		for _, name := range []string{"index.json", "1.2.0.json"} {
			for _, sent := range []bool{false, true} {
				web := mirror(map[string]string{"index.json": `{"versions":{"1.2.0":{}}}`, "1.2.0.json": document("linux_amd64", "alpha.zip")})
				web.pages[alphaURL+name] = page{status: status}
				c := client(web)
				note := "(no token was sent)"
				if sent {
					c.Transport.Credentials, note = tokens(t, "hunter2", mirrorHost), "(a token was sent)"
				}
				_, err := c.ProviderVersions(t.Context(), alpha)
				if name != "index.json" {
					_, err = c.ProviderPackage(t.Context(), alpha, v120, linux)
				}
				e := asError(t, err)
				if !errors.Is(err, provider.ErrUnauthorized) || errors.Is(err, provider.ErrNotFound) || e.HadToken != sent || e.Status != status {
					t.Errorf("%d, %s: %+v", status, name, e)
				}
				if !strings.Contains(err.Error(), note) || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("%d, %s: %v", status, name, err)
				}
			}
		}
	}
}

// TestNotHeldHere checks that the error for an unlisted version contains the listed versions.
func TestNotHeldHere(t *testing.T) {
	t.Parallel()
	for _, status := range []int{404, 410, 400, 500} {
		for _, list := range []bool{true, false} {
			web := mirror(map[string]string{"index.json": `{"versions":{"1.1.0":{},"2.0.0":{}}}`})
			web.pages[alphaURL+"1.2.0.json"] = page{status: status}
			c := client(web)
			if list {
				if _, err := c.ProviderVersions(t.Context(), alpha); err != nil {
					t.Fatal(err)
				}
			}
			_, err := c.ProviderPackage(t.Context(), alpha, v120, linux)
			e := asError(t, err)
			unavailable, ok := errors.AsType[*provider.UnavailableError](err)
			if !ok || !errors.Is(err, provider.ErrNoVersion) || e.Status != status || e.URL != alphaURL+"1.2.0.json" || unavailable.Newest.String() != "2.0.0" {
				t.Errorf("%d, listed before %t: %v", status, list, err)
			}
			if want := `no version matches "1.2.0", the newest is 2.0.0`; !strings.Contains(err.Error(), want) {
				t.Errorf("%d: %v, want %q in it", status, err, want)
			}
		}
	}
}

// TestProviderNotHeldHere checks that a missing index means that the provider is missing.
func TestProviderNotHeldHere(t *testing.T) {
	t.Parallel()
	_, err := client(mirror(nil)).ProviderPackage(t.Context(), alpha, v120, linux)
	if e := asError(t, err); !errors.Is(err, provider.ErrNotFound) || errors.Is(err, provider.ErrNoVersion) || e.Status != 404 {
		t.Error(err)
	}
}

// TestBrokenPromise checks that a missing document of a listed version is a fault of the mirror, so
// that no other source is used instead.
func TestBrokenPromise(t *testing.T) {
	t.Parallel()
	for status, text := range map[int]string{404: "the mirror lists the version, but its document is missing", 500: "internal server error", 400: "bad request"} {
		for _, list := range []bool{true, false} {
			web := mirror(map[string]string{"index.json": `{"versions":{"1.2.0":{}}}`})
			web.pages[alphaURL+"1.2.0.json"] = page{status: status}
			c := client(web)
			if list {
				if _, err := c.ProviderVersions(t.Context(), alpha); err != nil {
					t.Fatal(err)
				}
			}
			_, err := c.ProviderPackage(t.Context(), alpha, v120, linux)
			if e := asError(t, err); errors.Is(err, provider.ErrNotFound) || e.Status != status || !strings.Contains(err.Error(), text) {
				t.Errorf("%d: %v", status, err)
			}
			both := &provider.Multi{Sources: []provider.NamedSource{{Name: "mirror", Source: c}, {Name: "other", Source: client(mirror(nil))}}}
			if _, err := both.ProviderPackage(t.Context(), alpha, v120, linux); errors.Is(err, provider.ErrNotFound) {
				t.Errorf("%d: passed over: %v", status, err)
			}
		}
	}
}

// TestMissingWithoutIndex checks the error if neither the document nor the index is available.
func TestMissingWithoutIndex(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]error{404: provider.ErrNoVersion, 500: nil} {
		for _, index := range []page{{status: 502}, {body: "[]"}, {status: 403}} {
			web := mirror(nil)
			web.pages[alphaURL+"1.2.0.json"], web.pages[alphaURL+"index.json"] = page{status: status}, index
			_, err := client(web).ProviderPackage(t.Context(), alpha, v120, linux)
			if e := asError(t, err); e.Status != status || e.URL != alphaURL+"1.2.0.json" || errors.Is(err, provider.ErrNotFound) != (kind != nil) || kind != nil && !errors.Is(err, kind) {
				t.Errorf("%d with an index of %v: %v", status, index, err)
			}
		}
	}
}

// TestMissingProvider500 checks a mirror that sends status 500 for a missing provider: FirstOf
// continues with the next mirror.
func TestMissingProvider500(t *testing.T) {
	t.Parallel()
	web := mirror(nil)
	web.pages[alphaURL+"index.json"] = page{status: 500, header: http.Header{"Content-Type": {"text/html"}}, body: "<html>oops</html>"}
	_, err := client(web).ProviderVersions(t.Context(), alpha)
	if e := asError(t, err); e.Status != 500 || errors.Is(err, provider.ErrNotFound) ||
		!strings.Contains(err.Error(), "some servers answer 500 for an unknown provider") {
		t.Errorf("%+v", e)
	}
	other := client(mirror(map[string]string{"index.json": `{"versions":{"1.2.0":{}}}`}))
	first := &provider.FirstOf{Sources: []provider.NamedSource{{Name: "mirror", Source: client(web)}, {Name: "other", Source: other}}}
	if versions, err := first.ProviderVersions(t.Context(), alpha); err != nil || len(versions.List) != 1 {
		t.Errorf("%v, %v", versions, err)
	}
}

// TestMirrorThatIgnoresTheHost checks that the package has the requested address if the mirror
// ignores the host.
func TestMirrorThatIgnoresTheHost(t *testing.T) {
	t.Parallel()
	web := mirror(map[string]string{"1.2.0.json": document("linux_amd64", "/files/alpha?id=7f3c")})
	other := addrs.MustParseProvider("other.example.com/acme/alpha")
	web.pages[baseURL+"other.example.com/acme/alpha/1.2.0.json"] = web.pages[alphaURL+"1.2.0.json"]
	for _, p := range []addrs.Provider{alpha, other} {
		pkg, err := client(web).ProviderPackage(t.Context(), p, v120, linux)
		if err != nil || pkg.Provider != p || pkg.URL != "https://mirror.example.com/files/alpha?id=7f3c" {
			t.Errorf("%v, %v", pkg, err)
		}
	}
}

// TestRetries checks that the request for a document is repeated after a server error.
func TestRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		web := mirror(nil)
		web.pages[alphaURL+"index.json"] = page{status: 503}
		c := client(web)
		c.Transport.Retries = 0
		go func() {
			time.Sleep(100 * time.Millisecond)
			web.mu.Lock()
			defer web.mu.Unlock()
			web.pages[alphaURL+"index.json"] = page{body: `{"versions":{}}`}
		}()
		if _, err := c.ProviderVersions(t.Context(), alpha); err != nil || len(web.asked()) != 2 {
			t.Errorf("%v after %q", err, web.asked())
		}
	})
}

// TestRedirects checks that five redirects are followed, and that relative URLs are resolved
// against the last URL.
func TestRedirects(t *testing.T) {
	t.Parallel()
	for hops, ok := range map[int]bool{5: true, 6: false} {
		web := mirror(nil)
		from := alphaURL + "1.2.0.json"
		for i := range hops {
			to := "https://mirror" + strings.Repeat("x", i+1) + ".example.com/deep/down/1.2.0.json"
			web.pages[from] = page{status: 307, header: http.Header{"Location": {to}}}
			from = to
		}
		web.pages[from] = page{body: document("linux_amd64", "../alpha.zip")}
		pkg, err := client(web).ProviderPackage(t.Context(), alpha, v120, linux)
		if (err == nil) != ok {
			t.Errorf("%d: %v", hops, err)
		}
		if ok && pkg.URL != strings.TrimSuffix(from, "down/1.2.0.json")+"alpha.zip" {
			t.Errorf("the archive is at %s", pkg.URL)
		}
	}
	web := mirror(nil)
	web.pages[alphaURL+"index.json"] = page{status: 302, header: http.Header{"Location": {"http://mirror.example.com/index.json"}}}
	if _, err := client(web).ProviderVersions(t.Context(), alpha); !errors.Is(err, provider.ErrInsecure) || len(web.asked()) != 1 {
		t.Errorf("%v after %q", err, web.asked())
	}
}

// TestSharedRequests checks that concurrent calls share requests, that one document serves all
// platforms, and that each caller gets a copy.
func TestSharedRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		web := mirror(nil)
		web.pages[alphaURL+"index.json"] = page{delay: time.Second, body: `{"versions":{"1.2.0":{},"x":{}}}`}
		web.pages[alphaURL+"1.2.0.json"] = page{delay: time.Second, body: `{"archives":{` +
			`"linux_amd64":{"url":"l.zip","hashes":["zh:` + strings.Repeat("a", 64) + `"]},"plan9_arm":{"url":"p.zip"}}}`}
		c := client(web)
		done := make(chan bool)
		const callers = 20
		for i := range callers {
			go func() {
				defer func() { done <- true }()
				versions, err := c.ProviderVersions(t.Context(), alpha)
				if err != nil || versions.List[0].Version != v120 || versions.Warnings[0] == "" {
					t.Errorf("%v, %v", versions, err)
					return
				}
				versions.List[0], versions.Warnings[0] = provider.Release{}, ""
				platform := []addrs.Platform{linux, plan9}[i%2]
				pkg, err := c.ProviderPackage(t.Context(), alpha, v120, platform)
				if err != nil || pkg.Platform != platform || pkg.URL == "" || pkg.Hashes[linux][0].IsZero() {
					t.Errorf("%v, %v", pkg, err)
					return
				}
				pkg.Hashes[linux][0], pkg.URL = checksum.Hash{}, ""
			}()
		}
		for range callers {
			<-done
		}
		if got, want := web.asked(), []string{alphaURL + "index.json", alphaURL + "1.2.0.json"}; !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
	})
}

// TestCallersLeave checks that a canceled call does not affect other calls, and that the last one
// cancels the request.
func TestCallersLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		web := mirror(nil)
		web.pages[alphaURL+"1.2.0.json"] = page{delay: time.Minute, body: document("linux_amd64", "alpha.zip")}
		c := client(web)
		c.Transport.Timeout = -1
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		impatient := make(chan error)
		go func() {
			_, err := c.ProviderPackage(ctx, alpha, v120, linux)
			impatient <- err
		}()
		patient := make(chan error)
		go func() {
			_, err := c.ProviderPackage(t.Context(), alpha, v120, linux)
			patient <- err
		}()
		if err := <-impatient; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the impatient one: %v", err)
		} else {
			asError(t, err)
		}
		if err := <-patient; err != nil || len(web.asked()) != 1 {
			t.Errorf("the patient one: %v, asked %q", err, web.asked())
		}
		alone, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		begin := time.Now()
		if _, err := c.ProviderVersions(alone, alpha); err == nil {
			t.Error("no error")
		}
		if _, err := c.ProviderPackage(alone, alpha, v120, linux); !errors.Is(err, context.Canceled) || time.Since(begin) > time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		synctest.Wait()
	})
}

// TestTimeout checks that an attempt ends after Timeout with an error that is not the one of the
// caller's context.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		web := mirror(nil)
		web.pages[alphaURL+"index.json"] = page{delay: time.Hour}
		begin := time.Now()
		_, err := client(web).ProviderVersions(t.Context(), alpha)
		if took := time.Since(begin); asError(t, err) == nil || took != 10*time.Second || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// TestResume checks that an interrupted transfer is resumed, and that a failed one ends in a
// *provider.Error.
func TestResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		content := strings.Repeat("0123456789", 100)
		web := mirror(nil)
		web.pages[alphaURL+"alpha.zip"] = page{body: content, cut: 100, header: http.Header{"Etag": {`"1"`}, "Content-Type": {"application/x-www-form-urlencoded"}}}
		pkg := &provider.Package{Provider: alpha, Version: v120, Platform: linux, URL: alphaURL + "alpha.zip"}
		c := client(web)
		c.Transport.Retries = 1
		body, err := c.Open(t.Context(), pkg)
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		got, err := io.ReadAll(body)
		if err != nil || string(got) != content || body.Resumes() != 1 || body.Size != int64(len(content)) {
			t.Errorf("%d bytes, %v, %d resumes", len(got), err, body.Resumes())
		}

		c = client(web)
		if body, err = c.Open(t.Context(), pkg); err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		n, err := io.Copy(io.Discard, body)
		if e := asError(t, err); n != 100 || e.Op != "fetch" || e.Subject != pkg.String() {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}
