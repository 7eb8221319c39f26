package oci

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
)

// Template parses a level 1 template of RFC 6570 for the address of a repository, as the option -oci-mirror of
// "tofu providers lock" has it: "oci.example.com/mirror/{namespace}/{type}". It returns the function
// for [Client.Mirror].
//
// The variables are hostname, namespace and type. OpenTofu replaces other variables by nothing; Template
// refuses them with an [*AddressError], as all text that no address has.
func Template(text string) (func(addrs.Provider) string, error) {
	repository := func(p addrs.Provider) string {
		return strings.NewReplacer("{hostname}", p.Host().String(), "{namespace}", p.Namespace(), "{type}", p.Type()).Replace(text)
	}
	host, name, _ := strings.Cut(repository(addrs.MustParseProvider("example.com/namespace/type")), "/")
	if !templateText.MatchString(text) || (registry.Reference{Registry: host, Repository: name}).Validate() != nil {
		return nil, &AddressError{Repository: text}
	}
	return repository, nil
}

var templateText = regexp.MustCompile(`^(?:[A-Za-z0-9._:/\[\]-]|\{(?:hostname|namespace|type)\})+$`)

// ErrExists means that a tag, or its package for a platform, has other content.
var ErrExists = errors.New("the registry has other content")

// PushProvider adds packages of a version of a provider to a repository "HOST[:PORT]/NAME", as
// OpenTofu reads them. It downloads them from src and verifies them by o.Policy. It returns the digest
// of the index, which the tag of the version names.
//
// The tag is written last, so readers find complete packages only. Packages of other platforms
// stay. A package that the index has, with the hash that src states, is not downloaded. With another
// hash the error is [ErrExists].
//
// Two programs may push a version at the same time. If the registry obeys If-None-Match and
// If-Match, one of them can get [failure.ErrChanged], and can call PushProvider again. The specification of
// registries does not demand it. Otherwise the tag can lack packages of one program; pushed again, they are added.
//
// The directory [os.TempDir] needs space for one archive.
func (c *Client) PushProvider(ctx context.Context, repository string, src provider.Source, p addrs.Provider, v addrs.Version, platforms []addrs.Platform, o provider.DownloadOptions) (indexDigest string, err error) {
	defer func() { err = failure.Wrap("push", p.String()+" "+v.String(), err) }()
	repo, err := c.repository(repository)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "tofureg-oci-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	ctx = job(ctx)
	at, err := readTag(ctx, repo, tag(v))
	if err != nil {
		return "", err
	}
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, ArtifactType: typeProvider}
	if !at.none {
		if index, err = fetchIndex(ctx, repo, at.desc); err != nil {
			return "", explain(ctx, err)
		}
	}
	before := len(index.Manifests)
	for _, on := range platforms {
		pkg, err := src.ProviderPackage(ctx, p, v, on)
		if err != nil {
			return "", err
		}
		held, err := heldLayer(ctx, repo, at.desc, index.Manifests, on)
		if err != nil {
			return "", explain(ctx, err)
		}
		layer := ocispec.Descriptor{Digest: digest.NewDigestFromEncoded(digest.SHA256, pkg.SHA256.Value())}
		if held == "" || pkg.SHA256.IsZero() {
			file := filepath.Join(dir, "package.zip")
			if _, err := provider.Download(ctx, src, pkg, file, o); err != nil {
				return "", err
			}
			if layer, err = pushFile(ctx, repo, file, pkg.ArchiveName()); err != nil {
				return "", err
			}
		}
		switch held {
		case layer.Digest:
		case "":
			target, err := pack(ctx, repo, typeTarget, layer)
			if err != nil {
				return "", err
			}
			target.Platform = &ocispec.Platform{OS: on.OS(), Architecture: on.Arch()}
			index.Manifests = append(index.Manifests, target)
		default:
			return "", fmt.Errorf("%w for %s: %s, want %s", ErrExists, on, held, layer.Digest)
		}
	}
	if len(index.Manifests) == before {
		return at.desc.Digest.String(), nil
	}
	data, _ := json.Marshal(index) // it consists of strings, numbers, lists and maps
	return at.set(ctx, repo, tag(v), ocispec.MediaTypeImageIndex, data)
}

// heldLayer returns the digest of the archive for a platform in the manifests of an index, or "".
func heldLayer(ctx context.Context, repo *remote.Repository, index ocispec.Descriptor, list []ocispec.Descriptor, on addrs.Platform) (digest.Digest, error) {
	if len(list) == 0 {
		return "", nil
	}
	target, err := selectTarget(index, list, on)
	if _, ok := errors.AsType[*noPlatform](err); ok {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	layer, err := imageLayer(ctx, repo, target, typeTarget)
	return layer.Digest, err
}

// PushModule downloads a module package as [module.Download] does, but not to r.Dir, and pushes it to
// an OCI location with a tag, or to the tag "latest", as OpenTofu reads it. It returns the location with the
// digest instead, and with the subdirectory of the module.
//
// The tag is written last. A tag that names the same files stays. If it names others, the error is
// [ErrExists], unless o.Replace is set. For two programs that push a tag, see [Client.PushProvider].
//
// A package with links is refused even with o.KeepLinks. The directory [os.TempDir] needs space for the
// package and its archive.
func (c *Client) PushModule(ctx context.Context, to *module.Location, src module.Source, r module.Request, o module.Options) (pushed *module.Location, err error) {
	defer func() { err = failure.Wrap("push", to.String(), err) }()
	repo, err := c.repository(strings.TrimPrefix(to.URL, "oci://"))
	if err != nil || to.Digest+to.Subdir+to.Checksum != "" {
		return nil, cmp.Or(err, errors.New("the target can only have a tag"))
	}
	dir, err := os.MkdirTemp("", "tofureg-oci-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx = job(ctx)
	name := cmp.Or(to.Tag, "latest")
	at, err := readTag(ctx, repo, name)
	if err != nil {
		return nil, err
	}
	r.Dir, o.KeepLinks = filepath.Join(dir, "package"), false
	report, err := module.Download(ctx, src, r, o)
	if err != nil {
		return nil, err
	}
	result := *to
	result.Tag, result.Digest, result.Subdir = "", at.desc.Digest.String(), report.Subdir
	if !at.none {
		present := module.Request{Location: &module.Location{Kind: module.KindOCI, URL: to.URL, Digest: result.Digest}, Dir: filepath.Join(dir, "present")}
		held, err := module.Download(ctx, nil, present, module.Options{Fetcher: c, Limits: o.Limits})
		if err == nil && held.H1 == report.H1 {
			return &result, nil
		}
		if !o.Replace {
			return nil, cmp.Or(err, fmt.Errorf("%w: tag %q", ErrExists, name))
		}
	}
	f, err := os.Create(filepath.Join(dir, "package.zip"))
	if err != nil {
		return nil, err
	}
	const asDirectory = "/." // opening a pipe fails
	files := os.DirFS(r.Dir + asDirectory)
	w := zip.NewWriter(f)
	if err := cmp.Or(w.AddFS(files), w.Close(), f.Close()); err != nil {
		return nil, err
	}
	layer, err := pushFile(ctx, repo, f.Name(), "package.zip")
	if err != nil {
		return nil, err
	}
	desc, err := pack(ctx, repo, typeModule, layer)
	if err != nil {
		return nil, err
	}
	data, err := content.FetchAll(ctx, repo.Manifests(), desc)
	if err != nil {
		return nil, explain(ctx, err)
	}
	result.Digest, err = at.set(ctx, repo, name, desc.MediaType, data)
	return &result, err
}

// pushFile uploads a file as a layer, unless the repository has it.
func pushFile(ctx context.Context, repo *remote.Repository, file, title string) (layer ocispec.Descriptor, err error) {
	open := func() (io.ReadCloser, error) { return os.Open(file) }
	f, err := open()
	if err != nil {
		return layer, err
	}
	defer f.Close()
	hash := digest.SHA256.Digester()
	size, err := io.Copy(hash.Hash(), f)
	if err != nil {
		return layer, err
	}
	layer = ocispec.Descriptor{MediaType: typeZip, Digest: hash.Digest(), Size: size, Annotations: map[string]string{ocispec.AnnotationTitle: title}}
	held, err := repo.Blobs().Resolve(ctx, layer.Digest.String())
	if errors.Is(err, errdef.ErrNotFound) || err == nil && held.Size != size {
		err = repo.Blobs().Push(context.WithValue(ctx, blobKey{}, open), layer, f)
	}
	return layer, explain(ctx, err)
}

// pack pushes the manifest of an artifact with one layer. The same layer makes the same manifest.
func pack(ctx context.Context, repo *remote.Repository, artifact string, layer ocispec.Descriptor) (ocispec.Descriptor, error) {
	created := map[string]string{ocispec.AnnotationCreated: "1970-01-01T00:00:00Z"}
	desc, err := oras.PackManifest(ctx, repo, oras.PackManifestVersion1_1, artifact,
		oras.PackManifestOptions{Layers: []ocispec.Descriptor{layer}, ManifestAnnotations: created})
	return desc, explain(ctx, err)
}

// A tagState is what a tag named.
type tagState struct {
	desc ocispec.Descriptor
	etag string
	none bool // without a tag
}

// tagKey stores a *tagState in the context of requests for a tag.
type tagKey struct{}

// readTag returns what a tag names.
func readTag(ctx context.Context, repo *remote.Repository, name string) (at *tagState, err error) {
	at = &tagState{}
	at.desc, err = repo.Resolve(context.WithValue(ctx, tagKey{}, at), name)
	if at.none = errors.Is(err, errdef.ErrNotFound); at.none {
		return at, nil
	}
	return at, explain(ctx, err)
}

// set makes the tag name a manifest, if it still names what it did and the registry can tell.
func (at *tagState) set(ctx context.Context, repo *remote.Repository, name, mediaType string, data []byte) (string, error) {
	if len(data) > MaxManifest {
		return "", fmt.Errorf("manifest is %d bytes: %w, limit %d", len(data), failure.ErrTooLarge, MaxManifest)
	}
	desc := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
	err := repo.PushReference(context.WithValue(ctx, tagKey{}, at), desc, bytes.NewReader(data), name)
	if e, ok := errors.AsType[*errcode.ErrorResponse](err); ok && e.StatusCode == http.StatusPreconditionFailed {
		return "", fmt.Errorf("tag %q: %w", name, failure.ErrChanged)
	}
	return desc.Digest.String(), explain(ctx, err)
}
