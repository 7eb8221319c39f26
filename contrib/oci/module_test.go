package oci_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
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

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/contrib/oci"
	"github.com/tofureg/tofureg/contrib/oci/internal/must"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
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
	_, err := module.Download(t.Context(), nil, module.Request{Location: loc, Dir: dir}, o)
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
	header := &zip.FileHeader{Name: "link"}
	header.SetMode(fs.ModeSymlink | 0o777)
	must.Get(io.WriteString(must.Get(w.CreateHeader(header))(t), "/etc/passwd"))(t)
	must.Get(w.Create("main.tf"))(t)
	must.Do(t, w.Close())
	push("link", typeModule, f.blob("m", link.Bytes()))
	gone := good
	gone.Digest = digest.FromString("gone")
	push("gone", typeModule, gone)
	at := target(f.manifest("m", "", ocispec.MediaTypeImageManifest, image(typeTarget, good)), "linux_amd64")
	f.manifest("m", "index", ocispec.MediaTypeImageIndex, index(at))
	for tag, want := range map[string]error{
		"provider": oci.ErrManifest, "empty": oci.ErrManifest, "twice": oci.ErrManifest, "index": oci.ErrManifest,
		"text": failure.ErrArchive, "out": failure.ErrArchive, "link": module.ErrLink,
		"gone": failure.ErrNotFound, "unknown": failure.ErrNotFound,
	} {
		if _, err := get(t, f.client(), source+"?tag="+tag); !errors.Is(err, want) {
			t.Errorf("tag %s: %v, want %v", tag, err, want)
		}
	}
	if _, err := getWith(t, source+"?tag=link", module.Options{Fetcher: f.client(), SkipLinks: true}); err != nil {
		t.Errorf("tag link with SkipLinks: %v, want no error", err)
	}
	unknown := digest.FromString("x").String()
	if _, err := get(t, f.client(), source+"?digest="+unknown); !errors.Is(err, failure.ErrNotFound) {
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
		t.Errorf("Download: %v, want os.ErrDeadlineExceeded", err)
	}
}

// installHelper puts this program into PATH as a credential helper, which has one key, see TestMain.
func installHelper(t *testing.T, key string) {
	t.Helper()
	content := must.Get(os.ReadFile(must.Get(os.Executable())(t)))(t)
	dir := t.TempDir()
	name := helperProgram
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, name), content, 0o700))
	t.Setenv("PATH", dir)
	t.Setenv(helperKey, key)
}

// TestHelper uses a Docker configuration that names a helper.
func TestHelper(t *testing.T) {
	f := newRegistry(t)
	installHelper(t, f.host)
	f.module("m", "latest", map[string]string{"main.tf": ""})
	f.Before = wantBasic("helper", f.host, nil)
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

var (
	alpha  = addrs.MustParseProvider("example.com/acme/alpha")
	v1     = addrs.MustParseVersion("1.0.0")
	linux  = addrs.MustParsePlatform("linux_amd64")
	policy = provider.DownloadOptions{Policy: verify.Policy{AllowUnsigned: true, AllowUnchecked: true, AllowAnyName: true}}
)

// mirror returns a mirror with all providers in one repository.
func (f *fakeRegistry) mirror(repo string) provider.Source {
	return f.client().Mirror(func(addrs.Provider) string { return f.host + "/" + repo })
}

// download finds and downloads a package, and checks that a failure leaves no files.
func download(t *testing.T, src provider.Source) (*verify.Report, error) {
	t.Helper()
	pkg, err := src.ProviderPackage(t.Context(), alpha, v1, linux)
	if err != nil {
		return nil, err
	}
	dir := t.TempDir()
	report, err := provider.Download(t.Context(), src, pkg, filepath.Join(dir, pkg.ArchiveName()), policy)
	if entries, _ := os.ReadDir(dir); err != nil && len(entries) != 0 {
		t.Errorf("after the error %v: files %v, want none", err, entries)
	}
	return report, err
}

func TestMirror(t *testing.T) {
	t.Parallel()
	f := newRegistry(t)
	for _, tag := range []string{"1.0.0", "1.10.0", "1.2.0_a.1", "2.0.0-rc1", "latest", "1.0", "v3.0.0", "99999999999999999999.0.0"} {
		f.provider("p", tag, "linux_amd64", "darwin_arm64")
	}
	src := f.mirror("p")
	versions := must.Get(src.ProviderVersions(t.Context(), alpha))(t)
	if got, want := versions.String(), alpha.String()+": 2.0.0-rc1, 1.10.0, 1.2.0+a.1, 1.0.0"; got != want {
		t.Errorf("ProviderVersions: %s, want %s", got, want)
	}
	pkg, err := src.ProviderPackage(t.Context(), alpha, addrs.MustParseVersion("1.2.0+a.1"), linux)
	if err != nil {
		t.Fatalf("ProviderPackage: %v", err)
	}
	wantURL := "https://" + f.host + "/v2/p/blobs/sha256:" + pkg.SHA256.Value()
	if pkg.URL != wantURL || pkg.Size == 0 || pkg.Filename != "terraform-provider-alpha_1.2.0+a.1_linux_amd64.zip" {
		t.Errorf("ProviderPackage: %+v, want the URL %s, a size and a name", pkg, wantURL)
	}
	report, err := download(t, src)
	if err != nil || report == nil {
		t.Errorf("Download: %v, %v", report, err)
	}
}

// TestNotThere checks the kinds of errors for missing repositories, versions and platforms.
func TestNotThere(t *testing.T) {
	t.Parallel()
	f := newRegistry(t)
	f.provider("p", "1.0.0", "darwin_arm64")
	if _, err := f.mirror("q").ProviderVersions(t.Context(), alpha); !errors.Is(err, failure.ErrNotFound) {
		t.Errorf("ProviderVersions of an unknown repository: %v, want ErrNotFound", err)
	}
	if _, err := f.mirror("p").ProviderPackage(t.Context(), alpha, addrs.MustParseVersion("2.0.0"), linux); !errors.Is(err, failure.ErrNoVersion) {
		t.Errorf("ProviderPackage of an unknown version: %v, want ErrNoVersion", err)
	}
	_, err := f.mirror("p").ProviderPackage(t.Context(), alpha, v1, linux)
	e, ok := errors.AsType[*provider.UnavailableError](err)
	if !ok || !errors.Is(err, provider.ErrNoPlatform) || fmt.Sprint(e.Platforms) != "[darwin_arm64]" {
		t.Errorf("ProviderPackage for an unknown platform: %v, want ErrNoPlatform and the other platforms", err)
	}
	for _, address := range []string{"", "host", "host/", "host/UPPER", "host/a:tag", "u:secret@host/a", "host/a b"} {
		_, err := f.client().Mirror(func(addrs.Provider) string { return address }).ProviderVersions(t.Context(), alpha)
		if _, ok := errors.AsType[*oci.AddressError](err); !ok {
			t.Errorf("ProviderVersions at %q: %v, want an AddressError", address, err)
		}
	}
	foreign := &provider.Package{Provider: alpha, Version: v1, Platform: linux, Size: 1, URL: "https://" + f.host + "/v2/q/blobs/sha256:" + strings.Repeat("0", 64),
		SHA256: checksum.MustParseHash("zh:" + strings.Repeat("0", 64))}
	for _, pkg := range []*provider.Package{nil, {}, foreign} {
		if _, err := f.mirror("p").Open(t.Context(), pkg); err == nil {
			t.Errorf("Open(%v): no error", pkg)
		}
	}
}

// TestManifests uses manifests that are not manifests of a provider.
func TestManifests(t *testing.T) {
	t.Parallel()
	f := newRegistry(t)
	const img, idx = ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex
	layer := f.blob("p", zipOf(map[string]string{"x": "x"}))
	image512, negative, unknown, other := layer, layer, layer, layer
	image512.Digest, negative.Size, unknown.Digest, other.MediaType = digest.SHA512.FromString("x"), -1, "md5:abc", "application/gzip"
	good := target(f.manifest("p", "", img, image(typeTarget, layer)), "linux_amd64")
	of := func(layers ...ocispec.Descriptor) ocispec.Index {
		return index(target(f.manifest("p", "", img, image(typeTarget, layers...)), "linux_amd64"))
	}
	changed := func(change func(*ocispec.Descriptor)) ocispec.Index {
		d := good
		p := *d.Platform
		d.Platform = &p
		change(&d)
		return index(d)
	}
	wrongArtifact, noMediaType := index(good), index(good)
	wrongArtifact.ArtifactType, noMediaType.MediaType = typeModule, ""
	for name, test := range map[string]struct {
		mediaType string
		manifest  any
		want      error
	}{
		"good":                {idx, index(good), nil},
		"others beside it":    {idx, index(ocispec.Descriptor{MediaType: img, Digest: good.Digest, Size: 1}, good), nil},
		"another layer too":   {idx, of(other, layer), nil},
		"image":               {img, image(typeTarget, layer), oci.ErrManifest},
		"Docker list":         {"application/vnd.docker.distribution.manifest.list.v2+json", index(good), oci.ErrManifest},
		"artifact type":       {idx, wrongArtifact, oci.ErrManifest},
		"media type":          {idx, noMediaType, oci.ErrManifest},
		"empty":               {idx, index(), oci.ErrManifest},
		"twice":               {idx, index(good, good), oci.ErrManifest},
		"no platform":         {idx, changed(func(d *ocispec.Descriptor) { d.Platform = nil }), oci.ErrManifest},
		"version of a system": {idx, changed(func(d *ocispec.Descriptor) { d.Platform.OSVersion = "1" }), oci.ErrManifest},
		"target not an image": {idx, changed(func(d *ocispec.Descriptor) { d.MediaType = idx }), oci.ErrManifest},
		"target type":         {idx, changed(func(d *ocispec.Descriptor) { d.ArtifactType = "x" }), oci.ErrManifest},
		"target size":         {idx, changed(func(d *ocispec.Descriptor) { d.Size = -1 }), oci.ErrManifest},
		"no layer":            {idx, of(), oci.ErrManifest},
		"no zip":              {idx, of(other), oci.ErrManifest},
		"two layers":          {idx, of(layer, layer), oci.ErrManifest},
		"sha512":              {idx, of(image512), oci.ErrManifest},
		"negative size":       {idx, of(negative), oci.ErrManifest},
		"unknown digest":      {idx, of(unknown), oci.ErrManifest},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeRegistry{t: t, store: f.store, host: f.host, server: f.server}
			tag := "1.0.0"
			f.manifest("p", tag, test.mediaType, test.manifest)
			_, err := f.mirror("p").ProviderPackage(t.Context(), alpha, v1, linux)
			if !errors.Is(err, test.want) || test.want == nil && err != nil {
				t.Errorf("ProviderPackage: %v, want %v", err, test.want)
			}
			if name == "twice" && !strings.Contains(fmt.Sprint(err), "2 manifests for linux_amd64") {
				t.Errorf("ProviderPackage: %v, want the number of manifests", err)
			}
		})
	}
}
