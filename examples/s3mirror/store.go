package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
)

// Store keeps a mirror in a bucket. The store must know conditional writes, which are
// PUT with If-Match and If-None-Match; one that ignores these headers loses updates, and
// package dirtest finds that.
type Store struct {
	Client *s3.Client
	Bucket string

	// Prefix is what all keys begin with, such as "mirror/"; it may be empty.
	Prefix string
}

var _ mirrordir.Storage = (*Store)(nil)

// Open begins to receive an object. Its revision is the entity tag.
func (s *Store) Open(ctx context.Context, name string) (*mirrordir.Object, error) {
	key, err := s.key(name)
	if err != nil {
		return nil, err
	}
	out, err := s.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.Bucket, Key: key})
	if err != nil {
		return nil, s.failed("open", name, err)
	}
	if out.ContentLength == nil || aws.ToString(out.ETag) == "" {
		out.Body.Close()
		return nil, fmt.Errorf("open %q in bucket %s: the store states no size or no entity tag", name, s.Bucket)
	}
	return &mirrordir.Object{ReadCloser: out.Body, Size: *out.ContentLength, Revision: mirrordir.Revision(*out.ETag)}, nil
}

// Write puts an object with one request, never in parts: it appears as a whole, and the
// condition is part of the request. S3 takes up to 5 GB so.
func (s *Store) Write(ctx context.Context, name string, content *io.SectionReader, was mirrordir.Revision) error {
	key, err := s.key(name)
	if err != nil {
		return err
	}
	in := &s3.PutObjectInput{
		Bucket: &s.Bucket, Key: key,
		Body:          body{ctx, content},
		ContentLength: aws.Int64(content.Size()),
		ContentType:   contentType(name),
	}
	if was == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = aws.String(string(was))
	}
	if _, err := s.Client.PutObject(ctx, in); err != nil {
		return s.failed("write", name, err)
	}
	return nil
}

// body stops with its context also while it is hashed, before anything is sent.
type body struct {
	ctx context.Context
	*io.SectionReader
}

func (b body) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	return b.SectionReader.Read(p)
}

// contentType is what a web server in front of the bucket should say. Network clients
// want it of documents.
func contentType(name string) *string {
	switch path.Ext(name) {
	case ".json":
		return aws.String("application/json")
	case ".zip":
		return aws.String("application/zip")
	}
	return nil
}

// List returns the objects in a directory, and the directories that others are in. A
// bucket has no directories: they are what keys have before a slash.
func (s *Store) List(ctx context.Context, dir string) ([]mirrordir.Entry, error) {
	prefix := s.Prefix
	if dir != "." {
		key, err := s.key(dir)
		if err != nil {
			return nil, err
		}
		prefix = *key + "/"
	}
	var entries []mirrordir.Entry
	seen := map[string]bool{} // some stores repeat a prefix on the next page
	pages := s3.NewListObjectsV2Paginator(s.Client, &s3.ListObjectsV2Input{
		Bucket: &s.Bucket, Prefix: &prefix, Delimiter: aws.String("/"),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, s.failed("list", dir, err)
		}
		for _, p := range page.CommonPrefixes {
			name := strings.TrimSuffix(strings.TrimPrefix(aws.ToString(p.Prefix), prefix), "/")
			if name != "" && !seen[name] {
				seen[name] = true
				entries = append(entries, mirrordir.Entry{Name: name, Dir: true})
			}
		}
		for _, o := range page.Contents {
			// Some programs make an empty object for the directory itself.
			if name := strings.TrimPrefix(aws.ToString(o.Key), prefix); name != "" {
				entries = append(entries, mirrordir.Entry{Name: name, Size: aws.ToInt64(o.Size)})
			}
		}
	}
	return entries, nil
}

// Delete removes an object. For S3 too it is no error if there is none.
func (s *Store) Delete(ctx context.Context, name string) error {
	key, err := s.key(name)
	if err != nil {
		return err
	}
	_, err = s.Client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.Bucket, Key: key})
	if err = s.failed("delete", name, err); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// key returns the key of a file. S3 takes nearly everything as a key, so that names that
// are none are refused here.
func (s *Store) key(name string) (*string, error) {
	const longest = 1024 // bytes, by S3
	if !fs.ValidPath(name) || name == "." || len(s.Prefix)+len(name) > longest {
		return nil, fmt.Errorf("%q is no name for a bucket: %w", name, fs.ErrInvalid)
	}
	return aws.String(s.Prefix + name), nil
}

// failed gives errors the kinds that package mirrordir looks for.
func (s *Store) failed(op, name string, err error) error {
	if err == nil {
		return nil
	}
	var missing *types.NoSuchKey
	var api smithy.APIError
	var response interface{ HTTPStatusCode() int }
	status := 0
	if errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	switch {
	case status == http.StatusPreconditionFailed, status == http.StatusConflict && op == "write":
		err = fmt.Errorf("%w: %w", mirrordir.ErrConflict, err)
	case errors.As(err, &missing), errors.As(err, &api) && api.ErrorCode() == "NoSuchKey":
		// With If-Match the object must be there: it was deleted meanwhile.
		kind := fs.ErrNotExist
		if op == "write" {
			kind = mirrordir.ErrConflict
		}
		err = fmt.Errorf("%w: %w", kind, err)
	}
	return fmt.Errorf("%s %q in bucket %s: %w", op, name, s.Bucket, err)
}
