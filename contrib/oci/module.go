package oci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/tofureg/tofureg/module"
)

// FetchModule implements [module.Fetcher] for locations of [module.KindOCI]. It fetches the
// artifact with the tag or digest of loc, or with the tag "latest", and unpacks its zip
// archive by the rules of package [module], with Limits and SkipLinks of the options.
func (c *Client) FetchModule(ctx context.Context, loc *module.Location, dir string, o module.Options) (skipped []string, err error) {
	scheme, address, _ := strings.Cut(loc.URL, "://")
	switch {
	case loc.Kind != module.KindOCI || !strings.EqualFold(scheme, "oci"):
		return nil, &module.UnsupportedError{Kind: loc.Kind, Getter: loc.Getter, Options: []string{"Fetcher"}}
	case loc.Checksum != "":
		return nil, errors.New(`the parameter "checksum" is not supported for OCI artifacts; use "digest"`)
	case loc.Tag != "" && loc.Digest != "":
		return nil, errors.New("an OCI location must not have both a tag and a digest")
	}
	repo, err := c.repository(address)
	if err != nil {
		return nil, err
	}
	ctx = job(ctx)
	desc, err := repo.Resolve(ctx, cmp.Or(loc.Digest, loc.Tag, "latest"))
	if err != nil {
		return nil, explain(ctx, err)
	}
	layer, err := imageLayer(ctx, repo, desc, typeModule)
	if err != nil {
		return nil, explain(ctx, err)
	}
	archive, err := module.ParseLocation(blobURL(address, layer.Digest) + "?archive=zip")
	if err != nil {
		return nil, fmt.Errorf("blob of %s: %w", address, err)
	}
	report, err := module.Download(ctx, &layerSource{nil, c, repo, layer}, module.Request{Location: archive, Dir: dir}, module.Options{Limits: o.Limits, SkipLinks: o.SkipLinks, Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	return report.Skipped, nil
}

// layerSource implements [module.Source] for one blob, whose location is known.
type layerSource struct {
	module.Lister // nil

	client *Client
	repo   *remote.Repository
	layer  ocispec.Descriptor
}

// OpenModule opens the blob.
func (o *layerSource) OpenModule(ctx context.Context, _ *module.Location) (*module.Body, error) {
	b, err := o.client.openBlob(ctx, o.repo, o.layer)
	if err != nil {
		return nil, err
	}
	return &module.Body{ReadCloser: b, Size: o.layer.Size, Resumes: b.resumes}, nil
}
