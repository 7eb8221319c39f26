package oci

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"
)

// A blob is the content of a blob. It returns its last byte only if digest and size are
// right.
type blob struct {
	ctx     context.Context
	body    io.ReadCloser
	desc    ocispec.Descriptor
	hash    digest.Digester
	read    int64
	retries int64
	resumed atomic.Int64
}

// openBlob starts to fetch a blob. The caller has checked its descriptor.
func (c *Client) openBlob(ctx context.Context, repo *remote.Repository, desc ocispec.Descriptor) (*blob, error) {
	body, err := repo.Blobs().Fetch(context.WithValue(ctx, blobKey{}, true), desc)
	if err != nil {
		return nil, explain(ctx, err)
	}
	return &blob{ctx: ctx, body: body, desc: desc, hash: desc.Digest.Algorithm().Digester(), retries: int64(c.archiveRetries())}, nil
}

func (b *blob) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.body.Read(p)
	b.read += int64(n)
	b.hash.Hash().Write(p[:n])
	switch {
	case b.read > b.desc.Size:
		return 0, &DigestError{Want: b.desc.Digest.String(), WantSize: b.desc.Size, GotSize: b.read}
	case b.read == b.desc.Size:
		if got := b.hash.Digest(); got != b.desc.Digest {
			return 0, &DigestError{Want: b.desc.Digest.String(), Got: got.String(), WantSize: b.desc.Size, GotSize: b.read}
		}
		return n, err // the next read notices surplus bytes
	case err == nil:
		return n, nil
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	if !b.resume() {
		return n, explain(b.ctx, err)
	}
	return n, nil
}

// resume continues a broken transfer, if the server supports it.
func (b *blob) resume() bool {
	seeker, ok := b.body.(io.Seeker)
	if !ok || b.resumed.Load() >= b.retries || b.ctx.Err() != nil {
		return false
	}
	b.resumed.Add(1)
	// A seek to the current position has no effect, so seek to the end first.
	if _, err := seeker.Seek(b.desc.Size, io.SeekStart); err != nil {
		return false
	}
	_, err := seeker.Seek(b.read, io.SeekStart)
	return err == nil
}

func (b *blob) Close() error { return b.body.Close() }

func (b *blob) resumes() int { return int(b.resumed.Load()) }
