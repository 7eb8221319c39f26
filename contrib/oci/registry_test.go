package oci_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/contrib/oci"
	"github.com/tofureg/tofureg/contrib/oci/internal/must"
	"github.com/tofureg/tofureg/transport"
)

const (
	typeProvider = "application/vnd.opentofu.provider"
	typeTarget   = "application/vnd.opentofu.provider-target"
	typeModule   = "application/vnd.opentofu.modulepkg"
)

// A fakeRegistry is a registry over TLS on a loopback address.
type fakeRegistry struct {
	t     testing.TB
	store http.Handler

	// Before, if not nil, can answer a request. It then returns true.
	Before func(w http.ResponseWriter, r *http.Request) bool

	server *httptest.Server
	host   string
}

func newRegistry(t testing.TB) *fakeRegistry {
	t.Helper()
	f := &fakeRegistry{t: t, store: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	f.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.Before == nil || !f.Before(w, r) {
			f.store.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(f.server.Close)
	f.host = strings.TrimPrefix(f.server.URL, "https://")
	return f
}

// client returns an anonymous client that trusts the registry and never repeats requests.
func (f *fakeRegistry) client() *oci.Client {
	return &oci.Client{Transport: &transport.Settings{HTTP: f.server.Client(), Retries: -1}}
}

func (f *fakeRegistry) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.server.Certificate().Raw})
}

func (f *fakeRegistry) send(method, path, contentType string, body []byte) {
	f.t.Helper()
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	f.store.ServeHTTP(w, r)
	if w.Code >= 300 {
		f.t.Fatalf("%s %s: status %d: %s", method, path, w.Code, w.Body)
	}
}

// blob pushes content as a layer.
func (f *fakeRegistry) blob(repo string, content []byte) ocispec.Descriptor {
	f.t.Helper()
	d := digest.FromBytes(content)
	f.send("POST", "/v2/"+repo+"/blobs/uploads/?digest="+d.String(), "application/octet-stream", content)
	return ocispec.Descriptor{MediaType: "archive/zip", Digest: d, Size: int64(len(content))}
}

// manifest pushes a manifest. If tag is empty, the manifest is not tagged.
func (f *fakeRegistry) manifest(repo, tag, mediaType string, manifest any) ocispec.Descriptor {
	f.t.Helper()
	data, ok := manifest.([]byte)
	if !ok {
		data = must.Get(json.Marshal(manifest))(f.t)
	}
	d := digest.FromBytes(data)
	if tag == "" {
		tag = d.String()
	}
	f.send("PUT", "/v2/"+repo+"/manifests/"+tag, mediaType, data)
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(data))}
}

func image(artifact string, layers ...ocispec.Descriptor) ocispec.Manifest {
	return ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: artifact,
		Config: ocispec.DescriptorEmptyJSON, Layers: layers,
	}
}

func index(manifests ...ocispec.Descriptor) ocispec.Index {
	return ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, ArtifactType: typeProvider,
		Manifests: manifests,
	}
}

// target returns the descriptor of the manifest of a platform.
func target(desc ocispec.Descriptor, platform string) ocispec.Descriptor {
	p := addrs.MustParsePlatform(platform)
	desc.ArtifactType = typeTarget
	desc.Platform = &ocispec.Platform{OS: p.OS(), Architecture: p.Arch()}
	return desc
}

// provider pushes a provider with a different archive for each platform.
func (f *fakeRegistry) provider(repo, tag string, platforms ...string) {
	f.t.Helper()
	var targets []ocispec.Descriptor
	for _, p := range platforms {
		layer := f.blob(repo, zipOf(map[string]string{"terraform-provider-alpha_v" + tag: "#!" + p, "README.md": "alpha"}))
		targets = append(targets, target(f.manifest(repo, "", ocispec.MediaTypeImageManifest, image(typeTarget, layer)), p))
	}
	f.manifest(repo, tag, ocispec.MediaTypeImageIndex, index(targets...))
}

// module pushes a module package.
func (f *fakeRegistry) module(repo, tag string, files map[string]string) ocispec.Descriptor {
	f.t.Helper()
	layer := f.blob(repo, zipOf(files))
	return f.manifest(repo, tag, ocispec.MediaTypeImageManifest, image(typeModule, layer))
}

// zipOf returns an archive.
func zipOf(files map[string]string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range files {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o644)
		if strings.HasPrefix(name, "terraform-provider-") {
			h.SetMode(0o755)
		}
		e, _ := w.CreateHeader(h)
		_, _ = io.WriteString(e, content)
	}
	w.Close()
	return b.Bytes()
}
