package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
)

// The artifact types and the media type of OpenTofu.
const (
	maxMembers = 150_000 // of a manifest

	typeProvider = "application/vnd.opentofu.provider"        // an index with one manifest for each platform
	typeTarget   = "application/vnd.opentofu.provider-target" // the manifest of a platform
	typeModule   = "application/vnd.opentofu.modulepkg"
	typeZip      = "archive/zip" // the layer
)

// fetchManifest verifies the digest and size of a manifest and decodes it into what.
func fetchManifest(ctx context.Context, repo *remote.Repository, desc ocispec.Descriptor, what any) error {
	if err := checkDescriptor(desc); err != nil {
		return err
	}
	if desc.Size > MaxManifest {
		return fmt.Errorf("manifest %s is %d bytes: %w, limit %d", desc.Digest, desc.Size, failure.ErrTooLarge, MaxManifest)
	}
	body, err := repo.Manifests().Fetch(ctx, desc)
	if err != nil {
		return err
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, desc.Size+1))
	switch {
	case err != nil:
		return err
	case int64(len(data)) != desc.Size:
		return &DigestError{Want: desc.Digest.String(), WantSize: desc.Size, GotSize: int64(len(data))}
	}
	if got := desc.Digest.Algorithm().FromBytes(data); got != desc.Digest {
		return &DigestError{Want: desc.Digest.String(), Got: got.String(), WantSize: desc.Size, GotSize: desc.Size}
	}
	if bytes.Count(data, []byte{','}) >= maxMembers { // decoded, they take up to a hundred times their size
		return fmt.Errorf("manifest %s: more than %d members: %w", desc.Digest, maxMembers, failure.ErrTooLarge)
	}
	if json.Unmarshal(data, what) != nil {
		return bad(desc, "it is not valid JSON of its type")
	}
	return nil
}

// checkDescriptor refuses invalid descriptors. The library panics on some of them.
func checkDescriptor(desc ocispec.Descriptor) error {
	if err := desc.Digest.Validate(); err != nil {
		return &ManifestError{Digest: fmt.Sprintf("%.100q", desc.Digest), Reason: "the digest is invalid or has an unknown algorithm"}
	}
	if desc.Size < 0 {
		return bad(desc, "the size is negative")
	}
	return nil
}

func bad(desc ocispec.Descriptor, format string, args ...any) error {
	return &ManifestError{Digest: desc.Digest.String(), Reason: fmt.Sprintf(format, args...)}
}

// checkTypes compares the types of a manifest with its descriptor.
func checkTypes(desc ocispec.Descriptor, mediaType, artifactType, wantArtifact string) error {
	switch {
	case mediaType != desc.MediaType:
		return bad(desc, "the media type is %.100q, want %.100q", mediaType, desc.MediaType)
	case artifactType != wantArtifact:
		return bad(desc, "the artifact type is %.100q, want %q", artifactType, wantArtifact)
	}
	return nil
}

// fetchIndex returns the index of a provider that desc describes.
func fetchIndex(ctx context.Context, repo *remote.Repository, desc ocispec.Descriptor) (index ocispec.Index, err error) {
	if desc.MediaType != ocispec.MediaTypeImageIndex {
		return index, bad(desc, "the media type is %.100q, want the index of a provider, %q", desc.MediaType, ocispec.MediaTypeImageIndex)
	}
	if err := fetchManifest(ctx, repo, desc, &index); err != nil {
		return index, err
	}
	return index, checkTypes(desc, index.MediaType, index.ArtifactType, typeProvider)
}

// providerLayer returns the archive of a platform in the index that desc describes.
func providerLayer(ctx context.Context, repo *remote.Repository, desc ocispec.Descriptor, on addrs.Platform) (ocispec.Descriptor, error) {
	index, err := fetchIndex(ctx, repo, desc)
	if err != nil {
		return desc, err
	}
	target, err := selectTarget(desc, index.Manifests, on)
	if err != nil {
		return desc, err
	}
	return imageLayer(ctx, repo, target, typeTarget)
}

// selectTarget returns the only manifest for a platform. It ignores descriptors of other
// artifact types, and of versions of an operating system.
func selectTarget(index ocispec.Descriptor, list []ocispec.Descriptor, on addrs.Platform) (ocispec.Descriptor, error) {
	var found []ocispec.Descriptor
	var others []addrs.Platform
	for _, desc := range list {
		switch {
		case desc.ArtifactType != typeTarget:
			continue
		case desc.MediaType != ocispec.MediaTypeImageManifest:
			return desc, bad(index, "the manifest of a platform has the media type %.100q", desc.MediaType)
		case desc.Platform == nil:
			return desc, bad(index, "the manifest of a platform has no platform")
		case desc.Platform.OSVersion != "":
			continue
		case desc.Platform.OS == on.OS() && desc.Platform.Architecture == on.Arch():
			found = append(found, desc)
		default:
			if p, err := addrs.ParsePlatform(desc.Platform.OS + "_" + desc.Platform.Architecture); err == nil {
				others = append(others, p)
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return index, bad(index, "it has %d manifests for %s", len(found), on)
	case len(others) == 0:
		return index, bad(index, "it has no manifest with the artifact type %q", typeTarget)
	}
	return index, &noPlatform{others}
}

// noPlatform lists the platforms that have packages.
type noPlatform struct{ others []addrs.Platform }

func (e *noPlatform) Error() string { return provider.ErrNoPlatform.Error() }

// imageLayer returns the only zip archive of the image manifest that desc describes.
func imageLayer(ctx context.Context, repo *remote.Repository, desc ocispec.Descriptor, artifact string) (ocispec.Descriptor, error) {
	if desc.MediaType != ocispec.MediaTypeImageManifest {
		return desc, bad(desc, "the media type is %.100q, want %q", desc.MediaType, ocispec.MediaTypeImageManifest)
	}
	var manifest ocispec.Manifest
	if err := fetchManifest(ctx, repo, desc, &manifest); err != nil {
		return desc, err
	}
	if err := checkTypes(desc, manifest.MediaType, manifest.ArtifactType, artifact); err != nil {
		return desc, err
	}
	var layers []ocispec.Descriptor
	for _, layer := range manifest.Layers {
		if layer.MediaType == typeZip {
			layers = append(layers, layer)
		}
	}
	if len(layers) != 1 {
		return desc, bad(desc, "it has %d layers of the type %q, want one", len(layers), typeZip)
	}
	if err := checkDescriptor(layers[0]); err != nil {
		return desc, errors.Join(bad(desc, "its layer is invalid"), err)
	}
	if artifact == typeTarget && layers[0].Digest.Algorithm() != digest.SHA256 {
		return desc, bad(desc, "the digest of its layer is not sha256")
	}
	return layers[0], nil
}
