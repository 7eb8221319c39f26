package oci_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofureg/tofureg/contrib/oci"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/verify/checksum"
)

// get downloads a module package, and checks that a failure leaves no files.
func get(t *testing.T, c *oci.Client, source string) (string, error) {
	t.Helper()
	return getWith(t, source, module.Options{Fetcher: c})
}

func getWith(t *testing.T, source string, o module.Options) (string, error) {
	t.Helper()
	loc := must.Get(module.ParseLocation(source))(t)
	parent := t.TempDir()
	dir := filepath.Join(parent, "m")
	_, err := module.DownloadLocation(t.Context(), nil, loc, dir, o)
	if entries, _ := os.ReadDir(parent); err != nil && len(entries) != 0 {
		t.Errorf("after the error %v: files %v, want none", err, entries)
	}
	return dir, err
}

func TestModuleRefused(t *testing.T) {
	t.Parallel()
	f := newRegistry(t)
	source := "oci://" + f.host + "/m"
	good := f.blob("m", zipOf(map[string]string{"main.tf": ""}))
	push := func(tag string, artifact string, layers ...ocispec.Descriptor) {
		f.manifest("m", tag, ocispec.MediaTypeImageManifest, image(artifact, layers...))
	}
	push("provider", typeTarget, good)
	push("empty", typeModule)
	push("twice", typeModule, good, good)
	push("text", typeModule, f.blob("m", []byte("no archive")))
	push("out", typeModule, f.blob("m", zipOf(map[string]string{"../x": ""})))
	var link bytes.Buffer
	w := zip.NewWriter(&link)
	h := &zip.FileHeader{Name: "link"}
	h.SetMode(fs.ModeSymlink | 0o777)
	e, err := w.CreateHeader(h)
	if err == nil {
		_, err = e.Write([]byte("/etc/passwd"))
	}
	if err == nil {
		_, err = w.Create("main.tf")
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	push("link", typeModule, f.blob("m", link.Bytes()))
	gone := good
	gone.Digest = digest.FromString("gone")
	push("gone", typeModule, gone)
	at := target(f.manifest("m", "", ocispec.MediaTypeImageManifest, image(typeTarget, good)), "linux_amd64")
	f.manifest("m", "index", ocispec.MediaTypeImageIndex, index(at))
	for tag, want := range map[string]error{
		"provider": oci.ErrManifest, "empty": oci.ErrManifest, "twice": oci.ErrManifest, "index": oci.ErrManifest,
		"text": module.ErrArchive, "out": module.ErrArchive, "link": module.ErrLink,
		"gone": module.ErrNotFound, "unknown": module.ErrNotFound,
	} {
		if _, err := get(t, f.client(), source+"?tag="+tag); !errors.Is(err, want) {
			t.Errorf("tag %s: %v, want %v", tag, err, want)
		}
	}
	if _, err := getWith(t, source+"?tag=link", module.Options{Fetcher: f.client(), SkipLinks: true}); err != nil {
		t.Errorf("tag link with SkipLinks: %v, want no error", err)
	}
	unknown := digest.FromString("x").String()
	if _, err := get(t, f.client(), source+"?digest="+unknown); !errors.Is(err, module.ErrNotFound) {
		t.Errorf("unknown digest: %v, want ErrNotFound", err)
	}
	for _, loc := range []*module.Location{
		{Kind: module.KindS3, URL: "https://s3.amazonaws.com/b/x.zip"},
		{Kind: module.KindOCI, URL: "https://" + f.host + "/m"},
		{Kind: module.KindOCI, URL: source, Tag: "text", Digest: unknown},
		{Kind: module.KindOCI, URL: source, Checksum: "md5:" + strings.Repeat("0", 32)},
	} {
		if _, err := f.client().FetchModule(t.Context(), loc, t.TempDir(), module.Options{}); err == nil {
			t.Errorf("FetchModule(%+v): no error", loc)
		}
	}
}

// TestModuleLimits uses a package of the maximum size, and of one byte more.
func TestModuleLimits(t *testing.T) {
	t.Parallel()
	f := newRegistry(t)
	content := zipOf(map[string]string{"main.tf": "# x\n"})
	f.manifest("m", "latest", ocispec.MediaTypeImageManifest, image(typeModule, f.blob("m", content)))
	for less, want := range []error{nil, failure.ErrTooLarge} {
		o := module.Options{Fetcher: f.client(), Limits: checksum.Limits{Package: int64(len(content) - less)}}
		if _, err := getWith(t, "oci://"+f.host+"/m", o); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("package of %d bytes, limit %d: %v, want %v", len(content), o.Limits.Package, err, want)
		}
	}
}

// TestSilence uses a registry that does not answer.
func TestSilence(t *testing.T) {
	t.Parallel()
	f := newRegistry(t)
	f.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		<-r.Context().Done()
		return true
	}
	c := f.client()
	c.Transport.Timeout = time.Millisecond
	if _, err := get(t, c, "oci://"+f.host+"/m"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("DownloadLocation: %v, want os.ErrDeadlineExceeded", err)
	}
}

// TestHelper uses a Docker configuration that names a helper, which is this program, see
// TestMain.
func TestHelper(t *testing.T) {
	program := must.Get(os.Executable())(t)
	content := must.Get(os.ReadFile(program))(t)
	dir := t.TempDir()
	name := helperProgram
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, name), content, 0o700))
	t.Setenv("PATH", dir)
	f := newRegistry(t)
	f.module("m", "latest", map[string]string{"main.tf": ""})
	f.Before = wantBasic("helper", "https://"+f.host, nil)
	docker := filepath.Join(t.TempDir(), "config.json")
	for config, want := range map[string]string{
		fmt.Sprintf(`{"credHelpers":{%q:"test"}}`, f.host): "",
		`{"credsStore":"test"}`:                            "",
		`{"credsStore":"missing"}`:                         `the program "docker-credential-missing" is not in PATH`,
		`{"credsStore":"../test"}`:                         `invalid program name "docker-credential-../test"`,
		`{"credsStore":3}`:                                 "config.json",
	} {
		must.Do(t, os.WriteFile(docker, []byte(config), 0o600))
		_, c := load(t, f, fmt.Sprintf("oci_default_credentials {\n  docker_style_config_files = [%q]\n}\n", docker))
		_, err := get(t, c, "oci://"+f.host+"/m")
		if (want == "") != (err == nil) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("with %s: %v, want %q", config, err, want)
		}
		if e, ok := errors.AsType[*oci.CredentialError](err); err != nil && (!ok || e.Registry != f.host) {
			t.Errorf("with %s: %v, want a CredentialError", config, err)
		}
	}
}
