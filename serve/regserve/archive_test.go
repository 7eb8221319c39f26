package regserve_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify/checksum"
)

const archivePath = packagePath + "/archive.zip"

// content is a source of one package with any bytes.
type content struct {
	provider.Source
	data   string
	stated checksum.Hash
	broken error // after the data
}

func (c *content) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	pkg, err := c.Source.ProviderPackage(ctx, p, v, on)
	if err != nil {
		return nil, err
	}
	pkg = pkg.Clone()
	pkg.SHA256, pkg.Hashes = c.stated, nil
	return pkg, nil
}

func (c *content) Open(context.Context, *provider.Package) (*provider.Body, error) {
	var r io.Reader = strings.NewReader(c.data)
	if c.broken != nil {
		r = io.MultiReader(r, iotest.ErrReader(c.broken))
	}
	return &provider.Body{ReadCloser: io.NopCloser(r), Size: int64(len(c.data))}, nil
}

func hashOf(t *testing.T, data string) checksum.Hash {
	t.Helper()
	return must.Get(checksum.ZH(t.Context(), strings.NewReader(data)))(t)
}

// fetchRange requests the archive, or a part of it if byteRange is not empty.
func fetchRange(t *testing.T, server *httptest.Server, byteRange string) (resp *http.Response, body []byte, err error) {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+archivePath, nil))(t)
	if byteRange != "" {
		req.Header.Set("Range", byteRange)
	}
	if resp, err = server.Client().Do(req); err == nil {
		defer resp.Body.Close()
		body, err = io.ReadAll(resp.Body)
	}
	return resp, body, err
}

// Neither a client nor a cache ever takes other bytes, or a part, for the archive.
func TestArchiveIsWholeAndRight(t *testing.T) {
	t.Parallel()
	_, h := origin(t)
	data := strings.Repeat("0123456789abcdef", 20_000) // of some pieces
	for name, c := range map[string]struct {
		src  *content
		good bool
	}{
		"right":      {&content{data: data, stated: hashOf(t, data)}, true},
		"not stated": {&content{data: data}, true},
		"empty":      {&content{stated: hashOf(t, "")}, true},
		"other":      {&content{data: data, stated: hashOf(t, "other")}, false},
		"broken":     {&content{data: data, stated: hashOf(t, data), broken: errors.New("connection reset")}, false},
	} {
		c.src.Source = h.Providers
		server := serve(t, &regserve.Handler{Providers: c.src, Host: h.Host})
		for _, byteRange := range []string{"", "bytes=10-19", "bytes=320000-"} {
			resp, got, err := fetchRange(t, server, byteRange)
			complete := err == nil && resp.StatusCode < 300
			switch {
			case !c.good && complete:
				t.Errorf("%s, range %q: status %d with %d bytes, want a failure", name, byteRange, resp.StatusCode, len(got))
			case !c.good && err == nil && resp.Header.Get("Etag") != "":
				t.Errorf("%s, range %q: a refused archive has the tag %s", name, byteRange, resp.Header.Get("Etag"))
			case c.good && byteRange == "" && (!complete || string(got) != c.src.data):
				t.Errorf("%s: %v, %d bytes; want %d", name, err, len(got), len(c.src.data))
			case c.good && byteRange == "bytes=10-19" && !c.src.stated.IsZero() && c.src.data != "" && (resp.StatusCode != 206 || string(got) != data[10:20]):
				t.Errorf("%s: range %q is %q, status %d; want %q", name, byteRange, got, resp.StatusCode, data[10:20])
			}
		}
	}
}

// unsized is a source whose archives have no stated size.
type unsized struct{ *content }

func (u unsized) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	body, err := u.content.Open(ctx, pkg)
	if err == nil {
		body.Size = 0
	}
	return body, err
}

// A client of HTTP/1.0, such as a proxy, gets no complete answer unless the archive is whole and right, also without a length.
func TestArchiveOverHTTP10(t *testing.T) {
	t.Parallel()
	_, h := origin(t)
	data := strings.Repeat("0123456789abcdef", 20_000)
	for name, c := range map[string]struct {
		src     content
		unsized bool
		good    bool
	}{
		"right":                  {content{data: data, stated: hashOf(t, data)}, false, true},
		"right, no length":       {content{data: data, stated: hashOf(t, data)}, true, true},
		"not stated, no length":  {content{data: data}, true, true},
		"empty, no length":       {content{stated: hashOf(t, "")}, true, true},
		"other":                  {content{data: data, stated: hashOf(t, "other")}, false, false},
		"other, no length":       {content{data: data, stated: hashOf(t, "other")}, true, false},
		"broken":                 {content{data: data, stated: hashOf(t, data), broken: errors.New("connection reset")}, false, false},
		"broken, no length":      {content{data: data, stated: hashOf(t, data), broken: errors.New("connection reset")}, true, false},
		"broken, without hashes": {content{data: data, broken: errors.New("connection reset")}, true, false},
	} {
		c.src.Source = h.Providers
		var src provider.Source = &c.src
		if c.unsized {
			src = unsized{&c.src}
		}
		server := httptest.NewServer(&regserve.Handler{Providers: src, Host: h.Host})
		t.Cleanup(server.Close)
		conn := must.Get((&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String()))(t)
		must.Get(fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", archivePath, originHost))(t)
		answer, err := io.ReadAll(conn)
		conn.Close()
		head, body, _ := strings.Cut(string(answer), "\r\n\r\n")
		// As nginx sees it: without a length, the end of the connection is the end of the file.
		complete := strings.HasPrefix(head, "HTTP/1.0 200 ") && err == nil
		if _, length, ok := strings.Cut(head, "Content-Length: "); ok {
			length, _, _ = strings.Cut(length, "\r\n")
			complete = complete && fmt.Sprint(len(body)) == length
		}
		if complete != c.good || c.good && body != c.src.data {
			t.Errorf("%s: the answer begins with %q and has %d bytes, complete is %t, want %t", name, head, len(body), complete, c.good)
		}
	}
}

// A range of an archive that can seek needs no temporary file.
func TestRangeOfFile(t *testing.T) {
	t.Parallel()
	_, h := origin(t)
	h.Providers = &mirrorserve.Cache{Source: h.Providers, Mirror: must.Get(mirrordir.Open(t.TempDir()))(t), Wait: -1}
	h.TempDir = filepath.Join(t.TempDir(), "none")
	server := serve(t, h)
	_, whole, err := fetchRange(t, server, "")
	for range 2 { // downloaded, then cached
		resp, part, rangeErr := fetchRange(t, server, "bytes=10-19")
		if err != nil || rangeErr != nil || resp.StatusCode != http.StatusPartialContent || string(part) != string(whole[10:20]) {
			t.Errorf("a range of a file has status %d, %q, %v", resp.StatusCode, part, rangeErr)
		}
	}
}

// Neither a stream nor a file for a part of an archive exceeds the limit.
func TestArchiveLimit(t *testing.T) {
	t.Parallel()
	_, h := origin(t)
	const data = "an archive"
	for limit, good := range map[int64]bool{int64(len(data)): true, int64(len(data)) - 1: false} {
		src := &content{Source: h.Providers, data: data, stated: hashOf(t, data)}
		server := serve(t, &regserve.Handler{Providers: src, Host: h.Host, Limits: checksum.Limits{Package: limit}})
		for _, byteRange := range []string{"", "bytes=0-1"} {
			resp, _, err := fetchRange(t, server, byteRange)
			if came := err == nil && resp.StatusCode < 300; came != good {
				t.Errorf("limit %d, range %q: the archive came %t (%v), want %t", limit, byteRange, came, err, good)
			}
		}
	}
}

func TestConditionalArchive(t *testing.T) {
	t.Parallel()
	reg, h := origin(t)
	server := serve(t, h)
	resp, _ := get(t, server, archivePath)
	before := len(reg.Requests())
	again, _ := get(t, server, archivePath, "If-None-Match", resp.Header.Get("Etag"))
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("status %d for the tag %q, want 304", again.StatusCode, resp.Header.Get("Etag"))
	}
	for _, q := range reg.Requests()[before:] {
		if strings.HasSuffix(q.Path, ".zip") {
			t.Errorf("the origin was asked for %s to answer 304", q)
		}
	}
}

// The caller decides where archives are; nothing is opened at the source then.
func TestRedirect(t *testing.T) {
	t.Parallel()
	_, h := origin(t)
	failed := errors.New("the bucket is full")
	for name, c := range map[string]struct {
		url  string
		err  error
		want int
	}{
		"elsewhere": {"https://bucket.example.com/a.zip", nil, http.StatusFound},
		"here":      {"", nil, http.StatusOK},
		"failed":    {"", failed, http.StatusBadGateway},
	} {
		var log bytes.Buffer
		server := serve(t, &regserve.Handler{
			Providers: h.Providers, Host: h.Host, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Archive: func(_ context.Context, pkg *provider.Package) (string, error) {
				if pkg.URL == "" {
					t.Error("Archive got a package without its URL")
				}
				return c.url, c.err
			},
		})
		resp, _ := get(t, server, archivePath)
		if resp.StatusCode != c.want || resp.Header.Get("Location") != c.url {
			t.Errorf("%s: status %d to %q, want %d to %q", name, resp.StatusCode, resp.Header.Get("Location"), c.want, c.url)
		}
		if head := must.Get(server.Client().Head(server.URL + archivePath))(t); head.StatusCode != http.StatusOK {
			t.Errorf("%s: HEAD has status %d, want 200 without a redirect", name, head.StatusCode)
		}
		if logged := strings.Contains(log.String(), "bucket is full"); logged != (c.err != nil) {
			t.Errorf("%s: logged %q", name, log.String())
		}
	}
}

// A client that reads nothing holds its share, for a minute, and no archive of another client waits
// for it.
func TestClosedWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, h := origin(t)
		handler := &regserve.Handler{
			Providers: h.Providers, Host: h.Host, Parallel: 1,
			Client: func(r *http.Request) string { return r.Header.Get("Client") },
		}
		request := func(ctx context.Context, client string) *http.Request {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, archivePath, nil)
			r.Header.Set("Client", client)
			return r
		}
		const share = 4
		start := time.Now()
		var wg sync.WaitGroup
		for range share {
			wg.Go(func() {
				defer func() { _ = recover() }() // the answer is aborted
				handler.ServeHTTP(&closedWindow{ResponseRecorder: httptest.NewRecorder()}, request(t.Context(), "hostile"))
			})
		}
		synctest.Wait()
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, request(t.Context(), "other"))
		if took := time.Since(start); w.Code != http.StatusOK || w.Body.Len() == 0 || took > 0 {
			t.Errorf("the archive of another client: status %d, %d bytes after %v; want it at once", w.Code, w.Body.Len(), took)
		}
		w = httptest.NewRecorder()
		handler.ServeHTTP(w, request(t.Context(), "hostile"))
		if took := time.Since(start); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "5" || took != 5*time.Second || w.Header().Get("Etag") != "" {
			t.Errorf("beyond the share: status %d with %v after %v; want 503 and Retry-After after 5s", w.Code, w.Header(), took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w = httptest.NewRecorder()
		handler.ServeHTTP(w, request(ctx, "hostile"))
		if took := time.Since(start); w.Body.Len() > 0 || took != 6*time.Second {
			t.Errorf("a client that leaves while it waits: %d bytes after %v", w.Body.Len(), took)
		}
		wg.Wait()
		if took := time.Since(start); took != time.Minute {
			t.Errorf("the client was disconnected after %v, want a minute", took)
		}
	})
}

// closedWindow is a client that reads nothing.
type closedWindow struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (c *closedWindow) SetWriteDeadline(at time.Time) error {
	c.deadline = at
	return nil
}

func (c *closedWindow) Write([]byte) (int, error) {
	time.Sleep(time.Until(c.deadline))
	return 0, os.ErrDeadlineExceeded
}

// HEAD fetches no archive, and many ranges get the archive or the document once.
func TestHeadAndRanges(t *testing.T) {
	t.Parallel()
	reg, h := origin(t)
	server := serve(t, h)
	_, whole := get(t, server, archivePath)
	_, sums := get(t, server, packagePath+"/SHA256SUMS")
	many := "bytes=0-0" + strings.Repeat(",1-1", 32)
	for path, want := range map[string]string{archivePath: whole, packagePath + "/SHA256SUMS": sums} {
		if resp, body := get(t, server, path, "Range", many); resp.StatusCode != http.StatusOK || body != want {
			t.Errorf("33 ranges of %s: status %d, %d bytes; want 200 and %d", path, resp.StatusCode, len(body), len(want))
		}
	}
	reg.Reset()
	for _, ranges := range []string{"", "bytes=0-9", many} {
		req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodHead, server.URL+archivePath, nil))(t)
		req.Header.Set("Range", ranges)
		resp := must.Get(server.Client().Do(req))(t)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Accept-Ranges") != "bytes" || resp.Header.Get("Etag") == "" {
			t.Errorf("HEAD with the range %q: status %d, %v; want 200 with Accept-Ranges and Etag", ranges, resp.StatusCode, resp.Header)
		}
	}
	if n := reg.Count(regtest.Archive); n != 0 {
		t.Errorf("HEAD fetched the archive %d times", n)
	}
}

// Clients send no token for files, so their URLs are signed. A signature holds for its path
// and its time.
func TestSignedURLs(t *testing.T) {
	t.Parallel()
	_, h := origin(t)
	handler := &regserve.Handler{Providers: h.Providers, Modules: h.Modules, Host: h.Host, StreamModules: true, Secret: []byte("shared"), Authorize: bearer}
	server := serve(t, handler)
	token := []string{"Authorization", "Bearer secret"}
	_, body := get(t, server, packagePath, token...)
	signed := strings.TrimPrefix(member(t, body, "download_url"), server.URL)
	u := must.Get(url.Parse(signed))(t)
	query := func(until, signature string) string {
		return "?" + url.Values{"until": {until}, "signature": {signature}}.Encode()
	}
	until, signature := u.Query().Get("until"), u.Query().Get("signature")
	for path, want := range map[string]int{
		"/.well-known/terraform.json":                  200,
		packagePath:                                    401,
		"/v1/providers/acme/alpha/versions":            401,
		"/v1/modules/acme/network/aws/versions":        401,
		signed:                                         200,
		archivePath:                                    401,
		archivePath + query(until+"0", signature):      401,
		archivePath + query("1", signature):            401,
		archivePath + query(until, ""):                 401,
		packagePath + "/SHA256SUMS" + "?" + u.RawQuery: 401,
		packagePath + "?" + u.RawQuery:                 401,
	} {
		if resp, _ := get(t, server, path); resp.StatusCode != want {
			t.Errorf("GET %s without a token: status %d, want %d", path, resp.StatusCode, want)
		}
	}
	if resp, _ := get(t, server, archivePath, token...); resp.StatusCode != 200 || resp.Header.Get("Cache-Control") != "private" {
		t.Errorf("GET %s with the token: status %d, Cache-Control %q; want 200, private", archivePath, resp.StatusCode, resp.Header.Get("Cache-Control"))
	}
	// Another process with the same secret takes the URL for its own; one with another does not.
	for secret, want := range map[string]int{"shared": 200, "other": 401} {
		other := serve(t, &regserve.Handler{Providers: h.Providers, Host: h.Host, Secret: []byte(secret), Authorize: bearer})
		if resp, _ := get(t, other, signed); resp.StatusCode != want {
			t.Errorf("the URL at a Handler with the secret %q: status %d, want %d", secret, resp.StatusCode, want)
		}
	}
}

// sumsFrom requests the SHA256SUMS document of a package and its signature.
func sumsFrom(h http.Handler, version string) (status int, body string) {
	path := "/v1/providers/acme/alpha/" + version + "/download/linux/amd64/SHA256SUMS"
	for _, name := range []string{path, path + ".sig"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, name, nil))
		status, body = w.Code, body+w.Body.String()
	}
	return status, body
}

// Evidence that does not agree with its package is not kept; other evidence is kept for minutes.
func TestEvidenceIsKept(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]regtest.Fault{
		"a maintenance page for the sums":      {Kind: regtest.Sums, Raw: []byte("<html>later</html>")},
		"a maintenance page for the signature": {Kind: regtest.Signature, Raw: []byte("<html>later</html>")},
		"one bit of the sums":                  {Kind: regtest.Sums, Corrupt: true},
		"one bit of the signature":             {Kind: regtest.Signature, Corrupt: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, h := origin(t)
				_, good := sumsFrom(&regserve.Handler{Providers: h.Providers, Host: h.Host}, "1.0.0")
				fault.First = 2 // of the two documents
				reg.AddFault(fault)
				if _, bad := sumsFrom(h, "1.0.0"); bad == good {
					t.Fatal("the fault has no effect")
				}
				reg.Reset()
				asked := func() int { return reg.Count(regtest.Sums) }
				for range 3 {
					if status, got := sumsFrom(h, "1.0.0"); status != http.StatusOK || got != good {
						t.Errorf("after the fault: status %d, %q; want the documents", status, got)
					}
				}
				if n := asked(); n != 1 {
					t.Errorf("the origin was asked for the sums %d times, want once", n)
				}
				time.Sleep(5*time.Minute - time.Second)
				if sumsFrom(h, "1.0.0"); asked() != 1 {
					t.Error("the sums were not kept for 5 minutes")
				}
				time.Sleep(time.Second)
				if sumsFrom(h, "1.0.0"); asked() != 2 {
					t.Errorf("after 5 minutes the origin was asked %d times in all, want 2", asked())
				}
			})
		})
	}
}

// Full memory does not end the keeping: something else goes.
func TestEvidenceIsEvicted(t *testing.T) {
	t.Parallel()
	reg := regtest.New(originHost)
	line := strings.Repeat("0", 64) + "  " + strings.Repeat("x", 1000) + "%d.zip\n"
	for i := range 40 { // of 1 MB each
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: fmt.Sprintf("1.%d.0", i), Platforms: []string{"linux_amd64"}, EditSums: func(sums []byte) []byte {
			for n := range 900 {
				sums = fmt.Appendf(sums, line, n)
			}
			return sums
		}})
	}
	client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
	h := &regserve.Handler{Providers: client, Host: svchost.MustParse(originHost)}
	for i := range 40 {
		before := reg.Count(regtest.Sums)
		for range 2 {
			if status, _ := sumsFrom(h, fmt.Sprintf("1.%d.0", i)); status != http.StatusOK {
				t.Fatalf("version %d: status %d", i, status)
			}
		}
		if n := reg.Count(regtest.Sums) - before; n != 1 {
			t.Errorf("version %d: the origin was asked for the sums %d times, want once", i, n)
		}
	}
	before := reg.Count(regtest.Sums)
	for i := range 40 {
		sumsFrom(h, fmt.Sprintf("1.%d.0", i))
	}
	if n := reg.Count(regtest.Sums) - before; n == 0 {
		t.Error("40 MB were kept, want 32 MiB at most")
	}
}
