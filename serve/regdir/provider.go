package regdir

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/internal/regwire"
	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Release is a version of a provider to publish.
type Release struct {
	Provider addrs.Provider // required
	Version  addrs.Version  // required

	// Sums is the path of the SHA256SUMS document. The binary signature has the same path with ".sig"; the archives are
	// in the same directory. Required.
	Sums string

	// Keys are the public keys, one of which must have made the signature. Required.
	Keys []verify.Key

	// Manifest is the path of terraform-registry-manifest.json, which states the plugin protocols. If empty, the
	// registry states none. If SHA256SUMS lists a manifest, it must be this one.
	Manifest string

	// AllowMissing ignores archives whose files are missing. Another call with the same SHA256SUMS, also a concurrent
	// one, adds them.
	AllowMissing bool
}

// Published is an archive of a published provider.
type Published struct {
	Platform addrs.Platform `json:"platform"` // never zero
	Size     int64          `json:"size"`     // in bytes
	Report   *verify.Report `json:"report"`   // of the zero policy, never nil
}

var errNoVersion = errors.New("the version is missing")

// digestLen is the length of Content in a record.
const digestLen = 32

// maxManifest is the maximum size of a manifest in bytes.
const maxManifest = 64 << 10

// PublishProvider publishes a version of a provider from the files that goreleaser makes. The zero [verify.Policy] must
// accept each archive in SHA256SUMS before anything is visible; other lines are ignored.
//
// Publishing the same again changes nothing. If the version is published with other content, the error wraps
// [ErrExists]. The result is sorted by platform. The error is a [*failure.Error].
func (r *Registry) PublishProvider(ctx context.Context, rel Release) (_ []Published, err error) {
	defer func() { err = failure.Wrap("publish", rel.Provider.String()+" "+rel.Version.String(), err) }()
	i, err := r.providerItem(rel.Provider, rel.Version)
	if err != nil {
		return nil, err
	}
	rec := &record{Release: i.String(), Keys: slices.Clone(rel.Keys)}
	ev, manifest, err := rel.read(rec)
	if err != nil {
		return nil, err
	}
	root, err := fsx.OpenRoot(filepath.Dir(rel.Sums))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	platforms, err := rel.platforms(i, ev, manifest)
	if err != nil {
		return nil, err
	}
	published := make([]Published, len(platforms))
	err = stored.Each(ctx, parallel, len(platforms), func(ctx context.Context, n int) (err error) {
		published[n], err = rel.verify(ctx, root, i.pkg(platforms[n]), ev)
		return err
	})
	if err != nil {
		return nil, err
	}
	published = slices.DeleteFunc(published, func(p Published) bool { return p.Report == nil })
	if len(published) == 0 {
		return nil, fmt.Errorf("SHA256SUMS lists no archive of %s %s that is there: %w", rel.Provider, rel.Version, fs.ErrNotExist)
	}
	files := map[string]file{}
	for _, p := range published {
		name := i.archive(p.Platform, "")
		rec.Archives = append(rec.Archives, packed{p.Platform, name, p.Size, p.Report.Local})
		files[name] = file{p.Size, zhOf(p.Report.Local), func(ctx context.Context, w io.Writer) error { return copyFrom(ctx, w, root, name, p.Size) }}
	}
	for name, data := range map[string][]byte{sumsName: ev.Sums, signatureName: ev.Signature} {
		files[name] = file{int64(len(data)), checksum.ZHSum(sha256.Sum256(data)), func(_ context.Context, w io.Writer) error {
			_, err := w.Write(data)
			return err
		}}
	}
	if err := r.publish(ctx, i, rec, rec.Content, files); err != nil {
		return nil, err
	}
	return published, nil
}

// read reads what vouches for the archives, and sets what rec has of it. It returns the zh of the manifest, if there is one.
func (rel Release) read(rec *record) (ev verify.Evidence, manifest checksum.Hash, err error) {
	switch {
	case rel.Version.IsZero():
		return ev, manifest, errNoVersion
	case len(rel.Keys) == 0:
		return ev, manifest, fmt.Errorf("%w: Release.Keys is empty", verify.ErrUnsigned)
	}
	for _, key := range rec.Keys {
		if _, err := key.Info(); err != nil { // a client may refuse all keys for one
			return ev, manifest, err
		}
	}
	if rel.Manifest != "" {
		data, err := fsx.ReadRegular(rel.Manifest, maxManifest)
		if err != nil {
			return ev, manifest, err
		}
		manifest = checksum.ZHSum(sha256.Sum256(data))
		if rec.Protocols, err = parseManifest(data); err != nil {
			return ev, manifest, fmt.Errorf("%s: %w", rel.Manifest, err)
		}
	}
	ev.Keys, ev.MustBeSigned = rec.Keys, true
	if ev.Sums, err = fsx.ReadRegular(rel.Sums, scheme.MaxSums); err != nil {
		return ev, manifest, err
	}
	if ev.Signature, err = fsx.ReadRegular(rel.Sums+".sig", scheme.MaxSignature); err != nil {
		return ev, manifest, err
	}
	if bytes.HasPrefix(bytes.TrimSpace(ev.Signature), []byte("-----BEGIN")) {
		return ev, manifest, fmt.Errorf("%s.sig is in ASCII, but clients need a binary signature; sign without the option --armor", rel.Sums)
	}
	keys, err := json.Marshal(rec.Keys)
	digest := sha256.Sum256(fmt.Appendf(nil, "%d\n%s%d\n%s%s", len(ev.Sums), ev.Sums, len(ev.Signature), ev.Signature, keys))
	rec.Content = hex.EncodeToString(digest[:])[:digestLen]
	return ev, manifest, err
}

// platforms returns the platforms, sorted, of the archives in SHA256SUMS, which must not list another manifest.
func (rel Release) platforms(i item, ev verify.Evidence, manifest checksum.Hash) (found []addrs.Platform, err error) {
	checked, err := verify.Policy{}.CheckSums(ev)
	if err != nil {
		return nil, err
	}
	if err := regwire.CheckSums(ev.Sums, checked.Sums()); err != nil {
		return nil, err
	}
	name := "terraform-provider-" + rel.Provider.Type() + "_" + rel.Version.String() + "_manifest.json" // as goreleaser names it
	if want, ok := checked.Sums().Lookup(name); ok && !manifest.IsZero() && want != manifest {
		return nil, fmt.Errorf("%s is not the manifest in SHA256SUMS: %w", rel.Manifest,
			&checksum.MismatchError{Filename: name, Source: "SHA256SUMS", Want: []checksum.Hash{want}, Got: []checksum.Hash{manifest}})
	}
	for name := range checked.Sums().All() {
		v, platform, err := provider.ParseArchiveName(rel.Provider, name)
		switch _, invalid := errors.AsType[*addrs.ParseError](err); {
		case invalid:
			return nil, fmt.Errorf("SHA256SUMS: %w", err)
		case err != nil:
			continue // another file
		case v != rel.Version:
			return nil, fmt.Errorf("SHA256SUMS lists %.200q, an archive of another version", name)
		case name != i.pkg(platform).ArchiveName():
			return nil, fmt.Errorf("SHA256SUMS lists %.200q, want the name %s", name, i.pkg(platform).ArchiveName())
		}
		found = append(found, platform)
	}
	slices.SortFunc(found, addrs.Platform.Compare)
	return found, nil
}

// verify judges an archive by the zero policy. The report has all its hashes; it is nil if the archive may be missing.
func (rel Release) verify(ctx context.Context, root *os.Root, pkg *provider.Package, ev verify.Evidence) (Published, error) {
	name := pkg.ArchiveName()
	ev.Filename, ev.Requested = name, pkg.Evidence().Requested
	f, err := fsx.OpenRegularIn(root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && rel.AllowMissing:
		return Published{}, nil
	case errors.Is(err, fs.ErrNotExist):
		return Published{}, fmt.Errorf("SHA256SUMS lists %.200q, but %w; set AllowMissing to publish the others", name, err)
	case err != nil:
		return Published{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Published{}, err
	}
	var h1, tree checksum.Hash
	report, err := verify.Policy{}.Check(ctx, ev, f, info.Size())
	if err == nil {
		h1, tree, err = checksum.H1Zip(ctx, f, info.Size(), checksum.Limits{})
	}
	if err != nil {
		return Published{}, fmt.Errorf("%s: %w", name, err)
	}
	report.Local = hashlist.Sorted(report.Local, []checksum.Hash{h1, tree})
	return Published{pkg.Platform, info.Size(), report}, nil
}

// copyFrom copies a file that has this size, perhaps a byte more.
func copyFrom(ctx context.Context, w io.Writer, root *os.Root, name string, size int64) error {
	f, err := fsx.OpenRegularIn(root, name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, io.LimitReader(archive.Until(ctx, f), size+1))
	return err
}

// parseManifest returns the plugin protocols in a manifest.
func parseManifest(data []byte) ([]string, error) {
	var doc struct {
		Version  int
		Metadata struct {
			Protocols []string `json:"protocol_versions"`
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	list := doc.Metadata.Protocols
	switch {
	case doc.Version != 1:
		return nil, fmt.Errorf("unsupported version %d of the manifest, want 1", doc.Version)
	case len(list) == 0:
		return nil, errors.New("it states no protocol_versions")
	}
	for _, text := range list {
		if _, err := addrs.ParseVersion(text); err != nil {
			return nil, err
		}
	}
	return list, nil
}
