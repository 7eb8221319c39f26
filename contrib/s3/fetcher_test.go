package s3_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/tofureg/tofureg/contrib/s3"
	"github.com/tofureg/tofureg/contrib/s3/internal/must"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify/checksum"
)

// store is an S3 server on this machine with objects in the bucket "modules".
func store(t *testing.T, objects map[string]string) (host string, f *s3.Fetcher) {
	t.Helper()
	backend := s3mem.New()
	must.Do(t, backend.CreateBucket("modules"))
	for key, text := range objects {
		must.Get(backend.PutObject("modules", key, nil, strings.NewReader(text), int64(len(text)), nil))(t)
	}
	server := httptest.NewTLSServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	host = strings.TrimPrefix(server.URL, "https://")
	return host, &s3.Fetcher{
		Region:      "eu-west-1",
		Credentials: credentials.NewStaticCredentialsProvider("id", "s3cr3t", ""),
		Transport:   &transport.Settings{HTTP: server.Client()},
		Hosts: func(asked string) error {
			if asked != host {
				return fmt.Errorf("only %s", host)
			}
			return nil
		},
	}
}

func moduleZip(t *testing.T, files map[string]string) string {
	t.Helper()
	var entries []entry
	for name, text := range files {
		entries = append(entries, entry{name, text, false})
	}
	return string(zipOf(t, entries...))
}

func location(t *testing.T, text string) *module.Location {
	t.Helper()
	return must.Get(module.ParseLocation(text))(t)
}

// download fetches a location as programs do.
func download(t *testing.T, f *s3.Fetcher, text string) (*module.Report, error) {
	t.Helper()
	return downloadWith(t, f, text, module.Options{})
}

func downloadWith(t *testing.T, f *s3.Fetcher, text string, o module.Options) (*module.Report, error) {
	t.Helper()
	o.Fetcher = f
	client := &regclient.Client{Transport: f.Transport}
	return module.Download(t.Context(), client, module.Request{Location: location(t, text), Dir: filepath.Join(t.TempDir(), "module")}, o)
}

func TestFetch(t *testing.T) {
	t.Parallel()
	archive := moduleZip(t, map[string]string{"main.tf": "# main", "sub/main.tf": "# sub"})
	host, f := store(t, map[string]string{
		"a/archive.zip": archive, "a/plain": archive, "dir/main.tf": "# main", "dir/sub/main.tf": "# sub", "dir/": "", "other": "x", "directory/main.tf": "no",
	})
	sum := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(archive)))
	base := "s3::https://" + host + "/modules/"
	for _, text := range []string{
		base + "a/archive.zip", base + "a/archive.zip?region=eu-west-1", base + "a/plain?archive=zip",
		base + "a/archive.zip?checksum=" + sum, base + "dir", base + "dir/",
	} {
		report := must.Get(download(t, f, text))(t)
		if data, err := os.ReadFile(filepath.Join(report.Dir, "sub", "main.tf")); err != nil || string(data) != "# sub" {
			t.Errorf("%s: sub/main.tf is %q, %v", text, data, err)
		}
	}
	if report, err := download(t, f, base+"a/archive.zip//sub"); err != nil || report.Subdir != "sub" {
		t.Errorf("a directory of the archive: %+v, %v; want sub", report, err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	archive := moduleZip(t, map[string]string{"main.tf": "# main"})
	link := zipOf(t, entry{"link", "main.tf", true},
		entry{name: "main.tf"})
	kept := tarGz(t, entry{name: "main.tf"}, entry{"link", "main.tf", true})
	host, f := store(t, map[string]string{"a.zip": archive, "evil/../../x": "x", "evil/a": "x", "large/a": "12345", "large/b": "12345", "dirs/": "", "dirs/a/": "", "dirs/b": "", "link.zip": string(link), "link.tar.gz": string(kept)})
	base := "s3::https://" + host + "/modules/"
	for _, c := range []struct {
		text   string
		change func(*s3.Fetcher)
		want   error // nil: any error
		limits checksum.Limits
	}{
		{base + "nothing.zip", nil, failure.ErrNotFound, checksum.Limits{}},
		{base + "nothing", nil, failure.ErrNotFound, checksum.Limits{}},
		{base + "a.zip?checksum=sha256:" + strings.Repeat("0", 64), nil, checksum.ErrMismatch, checksum.Limits{}},
		{base + "large?checksum=sha256:" + strings.Repeat("0", 64), nil, nil, checksum.Limits{}},
		{base + "a.zip", nil, failure.ErrTooLarge, checksum.Limits{Package: 10}},
		{base + "large", nil, failure.ErrTooLarge, checksum.Limits{Unpacked: 9}},
		{base + "large", nil, failure.ErrTooLarge, checksum.Limits{Entries: 1}},
		{base + "dirs", nil, failure.ErrTooLarge, checksum.Limits{Entries: 2}},
		{base + "link.zip", nil, module.ErrLink, checksum.Limits{}},
		{base + "evil", nil, nil, checksum.Limits{}},
		{"s3::https://elsewhere.example.com/modules/a.zip", nil, s3.ErrHost, checksum.Limits{}},
		{base + "a.zip", func(f *s3.Fetcher) { f.Hosts = nil }, s3.ErrHost, checksum.Limits{}},
		{base + "a.zip", func(f *s3.Fetcher) {
			veto := *f.Transport
			f.Transport = &transport.Settings{HTTP: veto.HTTP, VetoHost: func(string) error { return errors.New("vetoed") }}
		}, s3.ErrHost, checksum.Limits{}},
		{base + "a.zip?aws_access_key_id=a&aws_access_key_secret=s3cr3t", nil, nil, checksum.Limits{}},
		{"s3::https://" + host + "/modules", nil, nil, checksum.Limits{}},
	} {
		changed := &s3.Fetcher{Credentials: f.Credentials, Region: f.Region, Hosts: f.Hosts, Transport: f.Transport}
		if c.change != nil {
			c.change(changed)
		}
		_, err := downloadWith(t, changed, c.text, module.Options{Limits: c.limits})
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.text, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "X-Amz-Signature")) {
			t.Errorf("%s: the error has a secret: %v", c.text, err)
		}
	}
	// At the limits.
	for text, o := range map[string]module.Options{
		base + "large":       {Limits: checksum.Limits{Unpacked: 10, Entries: 2}},
		base + "dirs":        {Limits: checksum.Limits{Entries: 3}},
		base + "a.zip":       {Limits: checksum.Limits{Package: int64(len(archive))}},
		base + "link.zip":    {SkipLinks: true},
		base + "link.tar.gz": {KeepLinks: true},
	} {
		report, err := downloadWith(t, f, text, o)
		if err != nil || o.SkipLinks != slices.Equal(report.Skipped, []string{"link"}) {
			t.Errorf("%s with the options %+v: %+v, %v", text, o, report, err)
		}
	}
}

// TestUnsigned: without credentials, and over http, requests carry no signature. The server knows no user, and
// refuses every signature.
func TestUnsigned(t *testing.T) {
	t.Parallel()
	backend := s3mem.New(s3mem.WithTimeSource(gofakes3.DefaultTimeSource()))
	must.Do(t, backend.CreateBucket("modules"))
	for key, text := range map[string]string{"a b+c/ö.zip": moduleZip(t, map[string]string{"main.tf": "# main"}), "dir/main.tf": "# main", "dir/x y%2F+ö.tf": "#"} {
		must.Get(backend.PutObject("modules", key, nil, strings.NewReader(text), int64(len(text)), nil))(t)
	}
	fake := gofakes3.New(backend).Server()
	public := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || strings.Contains(r.URL.RawQuery, "X-Amz-") {
			http.Error(w, "<Error><Code>InvalidAccessKeyId</Code></Error>", http.StatusForbidden)
			return
		}
		fake.ServeHTTP(w, r)
	})
	secure, plain := httptest.NewTLSServer(public), httptest.NewServer(public)
	t.Cleanup(secure.Close)
	t.Cleanup(plain.Close)
	anyHost := func(string) error { return nil }
	for name, f := range map[string]*s3.Fetcher{
		secure.URL: {Hosts: anyHost, Transport: &transport.Settings{HTTP: secure.Client()}},
		plain.URL:  {Hosts: anyHost, Transport: &transport.Settings{AllowHTTP: true}, Credentials: credentials.NewStaticCredentialsProvider("id", "s3cr3t", "")},
	} {
		for _, path := range []string{"/modules/a%20b+c/%C3%B6.zip", "/modules/dir"} {
			report := must.Get(download(t, f, "s3::"+name+path))(t)
			if data, err := os.ReadFile(filepath.Join(report.Dir, "main.tf")); err != nil || string(data) != "# main" {
				t.Errorf("%s: main.tf is %q, %v", path, data, err)
			}
		}
	}
	// A version of the object stays in the request.
	f := &s3.Fetcher{Hosts: anyHost, Transport: &transport.Settings{HTTP: secure.Client()}}
	if _, err := download(t, f, "s3::"+secure.URL+"/modules/a%20b+c/%C3%B6.zip?version=3"); err == nil || strings.Contains(err.Error(), "X-Amz") {
		t.Errorf("version 3: %v, want an error of the server", err)
	}
}

// Nothing of another kind is fetched, and a context that has ended is obeyed.
func TestOtherKinds(t *testing.T) {
	t.Parallel()
	host, f := store(t, map[string]string{"a.zip": "x", "d/a": "x"})
	for _, text := range []string{"gcs::https://www.googleapis.com/storage/v1/bucket/x.zip", "hg::https://example.com/x"} {
		_, err := f.FetchModule(t.Context(), location(t, text), t.TempDir(), module.Options{})
		if _, ok := errors.AsType[*module.UnsupportedError](err); !ok {
			t.Errorf("%s: %v, want an UnsupportedError", text, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, key := range []string{"a.zip", "d"} {
		dir := t.TempDir()
		_, err := f.FetchModule(ctx, location(t, "s3::https://"+host+"/modules/"+key), dir, module.Options{})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with an ended context: %v, want context.Canceled", key, err)
		}
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
			if !d.IsDir() {
				t.Errorf("%s was left behind", path)
			}
			return nil
		})
	}
}

// entry is an entry of an archive. The content of a symbolic link is its target.
type entry struct {
	name, content string
	link          bool
}

func zipOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var data bytes.Buffer
	w := zip.NewWriter(&data)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.link {
			header.SetMode(fs.ModeSymlink | 0o777)
		}
		must.Get(io.WriteString(must.Get(w.CreateHeader(header))(t), e.content))(t)
	}
	must.Do(t, w.Close())
	return data.Bytes()
}

func tarGz(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var data bytes.Buffer
	packed := gzip.NewWriter(&data)
	w := tar.NewWriter(packed)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.content))}
		if e.link {
			header = &tar.Header{Name: e.name, Typeflag: tar.TypeSymlink, Linkname: e.content}
		}
		must.Do(t, w.WriteHeader(header))
		if !e.link {
			must.Get(io.WriteString(w, e.content))(t)
		}
	}
	must.Do(t, errors.Join(w.Close(), packed.Close()))
	return data.Bytes()
}
