package regdir

import (
	"bytes"
	"cmp"
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
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Release is a version of a provider to publish.
type Release struct {
	Provider addrs.Provider // required
	Version  addrs.Version  // required

	// Sums is the path of the SHA256SUMS document, such as
	// "dist/terraform-provider-demo_1.0.0_SHA256SUMS". The binary signature has the same path with ".sig",
	// and the archives are in the same directory. Required.
	Sums string

	// Keys are the public keys, one of which must have made the signature. Required.
	Keys []verify.Key

	// Manifest is the path of terraform-registry-manifest.json, which states the plugin protocols. If empty,
	// the registry states none.
	Manifest string

	// AllowMissing ignores archives in SHA256SUMS whose files are missing. Another call with the same
	// SHA256SUMS adds them.
	AllowMissing bool
}

// Published is an archive of a published provider.
type Published struct {
	Platform addrs.Platform `json:"platform"` // never zero
	Size     int64          `json:"size"`     // in bytes
	Report   *verify.Report `json:"report"`   // of the zero policy, never nil
}

// digestLen is the length of Dir in a record.
const digestLen = 32

// maxManifest is the maximum size of a manifest in bytes, and maxProtocols of protocols in it.
const (
	maxManifest  = 64 << 10
	maxProtocols = 100
)

// PublishProvider publishes a version of a provider from the files that goreleaser makes. The zero
// [verify.Policy] must accept each archive in SHA256SUMS; other lines are ignored. Nothing is visible
// before.
//
// Publishing the same again changes nothing, and completes what a killed process began. If the version is
// published with other content, the error wraps [ErrExists]. Concurrent calls for a version with the same
// SHA256SUMS add their platforms. The result is sorted by platform. The error is a [*provider.Error].
func (r *Registry) PublishProvider(ctx context.Context, rel Release) ([]Published, error) {
	done, err := r.publishProvider(ctx, rel)
	return done, failure.Wrap("publish", rel.Provider.String()+" "+rel.Version.String(), err)
}

func (r *Registry) publishProvider(ctx context.Context, rel Release) ([]Published, error) {
	i, err := r.providerItem(rel.Provider, rel.Version)
	switch {
	case err != nil:
		return nil, err
	case rel.Version.IsZero():
		return nil, errors.New("the version is missing")
	case len(rel.Keys) == 0:
		return nil, fmt.Errorf("%w: Release.Keys is empty", verify.ErrUnsigned)
	}
	rel.Keys = slices.Clone(rel.Keys)
	for n, key := range rel.Keys {
		infos, err := key.Info()
		if err != nil {
			return nil, err
		}
		if len(infos) > 0 {
			rel.Keys[n].ID = cmp.Or(key.ID, infos[0].ID)
		}
	}
	rec := &record{Release: i.String(), Keys: rel.Keys}
	if rel.Manifest != "" {
		data, err := fsx.ReadRegular(rel.Manifest, maxManifest)
		if err != nil {
			return nil, err
		}
		if rec.Protocols, err = parseManifest(data); err != nil {
			return nil, fmt.Errorf("%s: %w", rel.Manifest, err)
		}
	}
	ev := verify.Evidence{Keys: rel.Keys, MustBeSigned: true}
	if ev.Sums, err = fsx.ReadRegular(rel.Sums, verify.MaxSums); err != nil {
		return nil, err
	}
	if ev.Signature, err = fsx.ReadRegular(rel.Sums+".sig", verify.MaxSignature); err != nil {
		return nil, err
	}
	if bytes.HasPrefix(bytes.TrimSpace(ev.Signature), []byte("-----BEGIN")) {
		return nil, fmt.Errorf("%s.sig is in ASCII, but clients need a binary signature; sign without the option --armor", rel.Sums)
	}
	digest := sha256.New()
	fmt.Fprintf(digest, "%d\n%s%s", len(ev.Sums), ev.Sums, ev.Signature)
	rec.Dir = hex.EncodeToString(digest.Sum(nil))[:digestLen]

	root, err := os.OpenRoot(filepath.Dir(rel.Sums))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	names, err := rel.archives(ctx, root, ev)
	if err != nil {
		return nil, err
	}
	published := make([]Published, len(names))
	rec.Archives = make([]packed, len(names))
	err = stored.Each(ctx, parallel, len(names), func(ctx context.Context, n int) (err error) {
		published[n], rec.Archives[n], err = rel.verify(ctx, root, names[n], ev)
		return err
	})
	if err != nil {
		return nil, err
	}
	rec.sort()
	slices.SortFunc(published, func(a, b Published) int { return a.Platform.Compare(b.Platform) })

	files := []file{bytesFile(sumsName, ev.Sums), bytesFile(signatureName, ev.Signature)}
	for _, a := range rec.Archives {
		files = append(files, file{name: a.Name, size: a.Size, zh: a.ZH, open: func() (io.ReadCloser, error) { return fsx.OpenRegularIn(root, a.Name) }})
	}
	if err := r.publish(ctx, i, rec, files); err != nil {
		return nil, err
	}
	return published, nil
}

// archives returns the names of the archives in SHA256SUMS that are there.
func (rel Release) archives(ctx context.Context, root *os.Root, ev verify.Evidence) ([]string, error) {
	checked, err := verify.Policy{}.CheckSums(ev)
	if err != nil {
		return nil, err
	}
	var names, missing []string
	seen := map[addrs.Platform]string{}
	for name := range checked.Sums().All() {
		v, platform, problem := provider.ParseArchiveName(rel.Provider, name)
		switch {
		case ctx.Err() != nil:
			return nil, fault.Ended(ctx)
		case problem != "":
			return nil, fmt.Errorf("SHA256SUMS lists %.200q: the name %s", name, problem)
		case v.IsZero():
			continue // another file
		case v != rel.Version:
			return nil, fmt.Errorf("SHA256SUMS lists %.200q, an archive of another version", name)
		case seen[platform] != "":
			return nil, fmt.Errorf("SHA256SUMS lists two archives for %s: %.200q and %.200q", platform, seen[platform], name)
		}
		seen[platform] = name
		if _, err := root.Stat(name); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, name)
		} else {
			names = append(names, name)
		}
	}
	switch {
	case len(missing) > 0 && !rel.AllowMissing:
		return nil, fmt.Errorf("SHA256SUMS lists %.200q, but %w; set AllowMissing to publish the others", missing[0], &fs.PathError{Op: "open", Path: missing[0], Err: fs.ErrNotExist})
	case len(names) == 0:
		return nil, fmt.Errorf("SHA256SUMS lists no archive of %s %s that is there: %w", rel.Provider, rel.Version, fs.ErrNotExist)
	}
	return names, nil
}

// verify judges an archive by the zero policy.
func (rel Release) verify(ctx context.Context, root *os.Root, name string, ev verify.Evidence) (Published, packed, error) {
	_, platform, _ := provider.ParseArchiveName(rel.Provider, name)
	pkg := &provider.Package{Provider: rel.Provider, Version: rel.Version, Platform: platform, Filename: name}
	ev.Filename, ev.Requested = name, pkg.Evidence().Requested
	f, err := fsx.OpenRegularIn(root, name)
	if err != nil {
		return Published{}, packed{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Published{}, packed{}, err
	}
	var policy verify.Policy
	a := packed{Name: name, Platform: platform, Size: info.Size()}
	report, err := policy.Check(ctx, ev, f, a.Size)
	if err == nil {
		a.H1, a.Tree, err = checksum.H1Zip(ctx, f, a.Size, policy.Limits)
	}
	if err != nil {
		return Published{}, packed{}, fmt.Errorf("%s: %w", name, err)
	}
	a.ZH = checksum.WithScheme(report.Local, checksum.SchemeZH)[0]
	report.Local = a.hashes()
	return Published{platform, a.Size, report}, a, nil
}

// bytesFile returns a file with this content.
func bytesFile(name string, data []byte) file {
	return file{name: name, size: int64(len(data)), zh: checksum.ZHSum(sha256.Sum256(data)), open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}}
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
	case len(list) > maxProtocols:
		return nil, fmt.Errorf("more than %d protocol_versions: %w", maxProtocols, failure.ErrTooLarge)
	}
	for _, text := range list {
		if _, err := addrs.ParseVersion(text); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// RemoveProvider removes a version of a provider. It ignores a missing version. If it fails, another call
// completes the removal; before that, the version cannot be published again. If other processes publish the version at the same time, it is there afterwards or
// not, but never for long without its files. In a store that cannot delete on a condition, it changes nothing
// and the error wraps [errors.ErrUnsupported].
func (r *Registry) RemoveProvider(ctx context.Context, p addrs.Provider, v addrs.Version) error {
	i, err := r.providerItem(p, v)
	if err == nil {
		err = r.remove(ctx, i)
	}
	return failure.Wrap("remove", p.String()+" "+v.String(), err)
}
