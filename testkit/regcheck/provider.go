package regcheck

import (
	"archive/zip"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/internal/regwire"
	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/internal/weburl"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// checkedPackage is what is known about the package.
type checkedPackage struct {
	namespace, typ string
	version        string // as it is listed
	platform       addrs.Platform

	filename                string
	url, sumsURL, signature *url.URL
	keys                    []verify.Key
	hash                    checksum.Hash
	stated                  []checksum.Hash
	size                    int64
	sums                    []byte
}

// packageDocument is the document about a package.
type packageDocument struct {
	Protocols    []string
	OS, Arch     string
	Filename     string
	DownloadURL  string `json:"download_url"`
	Shasum       string
	SumsURL      string `json:"shasums_url"`
	SignatureURL string `json:"shasums_signature_url"`
	SigningKeys  struct {
		Keys []struct {
			ID    string `json:"key_id"`
			Armor string `json:"ascii_armor"`
		} `json:"gpg_public_keys"`
	} `json:"signing_keys"`
	Packages map[string]statedPackage
}

func (e *examiner) providerPackage() error {
	p := &e.pkg
	u := e.endpoint(providersService, p.namespace, p.typ, p.version, "download", p.platform.OS(), p.platform.Arch())
	var doc packageDocument
	r, err := e.document(u, maxDocument, true, &doc)
	if err != nil {
		return err
	}
	if doc.OS != p.platform.OS() || doc.Arch != p.platform.Arch() {
		e.failf("%s: os is %q and arch is %q, want %s", weburl.Redact(u), doc.OS, doc.Arch, p.platform)
	}
	if len(doc.Protocols) == 0 {
		e.note(Advice, weburl.Redact(u)+": protocols is missing or empty; clients cannot see whether they support the provider")
	}
	e.protocols(weburl.Redact(u), doc.Protocols)
	if p.filename = doc.Filename; p.filename == "" || strings.ContainsAny(p.filename, "/\\") || p.filename == ".." {
		e.failf("%s: invalid filename %q", weburl.Redact(u), p.filename)
	}
	sum, err := hex.DecodeString(doc.Shasum)
	if err != nil || len(sum) != sha256.Size {
		e.failf("%s: shasum %q is not a SHA-256 in hex", weburl.Redact(u), doc.Shasum)
	} else {
		p.hash = checksum.ZHSum([sha256.Size]byte(sum))
	}
	e.packageURLs(r.url, doc)
	for _, k := range doc.SigningKeys.Keys {
		p.keys = append(p.keys, verify.Key{ID: k.ID, Armor: k.Armor})
	}
	if len(p.keys) == 0 {
		e.failf("%s: no signing keys: signing_keys.gpg_public_keys is missing or empty", weburl.Redact(u))
	}
	e.statedPackages(u, doc.Packages, doc.Shasum)
	return nil
}

// packageURLs checks the URLs in the document at base.
func (e *examiner) packageURLs(base *url.URL, doc packageDocument) {
	p := &e.pkg
	for _, f := range []struct {
		to            **url.URL
		property, ref string
	}{
		{&p.url, "download_url", doc.DownloadURL},
		{&p.sumsURL, "shasums_url", doc.SumsURL},
		{&p.signature, "shasums_signature_url", doc.SignatureURL},
	} {
		var err error
		if *f.to, err = e.fileURL(base, f.property, f.ref); err != nil {
			e.failf("%w", err)
		}
	}
}

// file fetches a small file without the token, as clients do.
func (e *examiner) file(u *url.URL, limit int64) ([]byte, error) {
	r, err := e.ask(u, false, "Accept", "*/*")
	if err != nil {
		return nil, err
	}
	if err := r.wantStatus(http.StatusOK); err != nil {
		return nil, err
	}
	return r.read(limit)
}

func (e *examiner) sums() error {
	p := &e.pkg
	if e.insecure("shasums_url", p.sumsURL) {
		return nil
	}
	var err error
	if p.sums, err = e.file(p.sumsURL, scheme.MaxSums); err != nil {
		return err
	}
	sums, err := verify.ParseSums(p.sums)
	if err == nil {
		err = regwire.CheckSums(p.sums, sums)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", weburl.Redact(p.sumsURL), err)
	}
	h, ok := sums.Lookup(p.filename)
	switch {
	case !ok:
		return fmt.Errorf("%s: does not list the filename %q", weburl.Redact(p.sumsURL), p.filename)
	case h != p.hash:
		return fmt.Errorf("%s: the digest of %q is not the shasum of the package document", weburl.Redact(p.sumsURL), p.filename)
	}
	return nil
}

func (e *examiner) signature() error {
	p := &e.pkg
	if e.insecure("shasums_url", p.sumsURL) || e.insecure("shasums_signature_url", p.signature) {
		return nil
	}
	sig, err := e.file(p.signature, scheme.MaxSignature)
	if err != nil {
		return err
	}
	if _, err := verify.CheckSignature(p.sums, sig, p.keys, time.Now()); err != nil {
		return fmt.Errorf("%s: %w", weburl.Redact(p.signature), err)
	}
	return nil
}

func (e *examiner) archive() error {
	p := &e.pkg
	if e.insecure("download_url", p.url) {
		return nil
	}
	want := append(slices.Clone(p.stated), p.hash)
	return e.inspect(p.url, want, p.size, "terraform-provider-"+p.typ)
}

func (e *examiner) unknownProvider() error {
	p := &e.pkg
	e.unknown(e.endpoint(providersService, "regcheck-unknown", "regcheck-unknown", "versions"))
	e.unknown(e.endpoint(providersService, p.namespace, p.typ, "0.0.0-regcheck", "download", p.platform.OS(), p.platform.Arch()))
	return nil
}

func (e *examiner) providerVersions() error {
	p := &e.pkg
	var ok bool
	if p.namespace, p.typ, ok = strings.Cut(e.o.Provider, "/"); !ok || strings.Contains(p.typ, "/") {
		return fmt.Errorf("provider %q is not NAMESPACE/TYPE", e.o.Provider)
	}
	u := e.endpoint(providersService, p.namespace, p.typ, "versions")
	var doc struct{ Versions []listedVersion }
	if _, err := e.document(u, maxDocument, true, &doc); err != nil {
		return err
	}
	var seen []string
	for _, v := range doc.Versions {
		parsed, err := addrs.ParseVersion(v.Version)
		if err != nil {
			e.failf("%s: %w", weburl.Redact(u), err)
			continue
		}
		seen = append(seen, parsed.String())
		platforms := e.listedVersion(fmt.Sprintf("%s: version %s", weburl.Redact(u), parsed), v)
		if p.version == "" && (e.o.Version == "" || e.o.Version == v.Version || e.o.Version == parsed.String()) {
			p.version = v.Version
			p.choosePlatform(platforms, e.o.Platform)
		}
	}
	if twice := duplicate(seen); twice != "" {
		e.failf("%s: version %s is listed twice", weburl.Redact(u), twice)
	}
	if p.version == "" {
		return notListed(u, e.o.Version, len(doc.Versions))
	}
	if !p.platform.IsZero() {
		return nil
	}
	var err error
	p.platform, err = addrs.ParsePlatform(cmp.Or(e.o.Platform, "linux_amd64"))
	return err
}

// listedVersion is a version in a list of versions.
type listedVersion struct {
	Version   string
	Protocols []string
	Platforms []struct{ OS, Arch string }
}

// listedVersion checks a version and returns its platforms.
func (e *examiner) listedVersion(where string, v listedVersion) []addrs.Platform {
	e.protocols(where, v.Protocols)
	var platforms []addrs.Platform
	for _, q := range v.Platforms {
		platform, err := addrs.NewPlatform(q.OS, q.Arch)
		if err != nil {
			e.failf("%s: %w", where, err)
			continue
		}
		platforms = append(platforms, platform)
	}
	return platforms
}

// choosePlatform selects the wanted platform, or the first if wanted is empty.
func (p *checkedPackage) choosePlatform(listed []addrs.Platform, wanted string) {
	for _, platform := range listed {
		if wanted == "" || wanted == platform.String() {
			p.platform = platform
			return
		}
	}
}

func (e *examiner) protocols(where string, list []string) {
	for _, protocol := range list {
		if _, err := addrs.ParseVersion(protocol); err != nil {
			e.failf("%s: %q is not a plugin protocol", where, protocol)
		}
	}
}

// notListed returns the error for a version that is not in a list of n versions.
func notListed(u *url.URL, version string, n int) error {
	if version == "" {
		return fmt.Errorf("%s: no valid version in the list of %d", weburl.Redact(u), n)
	}
	return fmt.Errorf("%s: version %q is not in the list of %d", weburl.Redact(u), version, n)
}

// statedPackage is an element of "packages" in a package document.
type statedPackage struct {
	Hashes []string
	Size   int64 `json:"package_size"`
}

// statedPackages checks "packages" in a package document. It may be missing, but the CLI
// refuses incomplete elements.
func (e *examiner) statedPackages(u *url.URL, packages map[string]statedPackage, shasum string) {
	if len(packages) == 0 {
		return
	}
	p := &e.pkg
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		if _, err := addrs.ParsePlatform(name); err != nil {
			e.failf("%s: packages: %w", weburl.Redact(u), err)
		}
		hashes := e.statedHashes(weburl.Redact(u)+": packages: "+name, packages[name].Hashes)
		if name == p.platform.String() {
			p.stated = hashes
		}
	}
	own, ok := packages[p.platform.String()]
	if !ok {
		e.failf("%s: packages does not have %s", weburl.Redact(u), p.platform)
		return
	}
	if p.size = own.Size; p.size <= 0 {
		e.failf("%s: packages: %s: package_size is %d, want the size of the archive", weburl.Redact(u), p.platform, p.size)
	}
	if !hashlist.Has(p.stated, checksum.SchemeZH) {
		e.failf("%s: packages: %s has no zh hash", weburl.Redact(u), p.platform)
	}
	for _, text := range own.Hashes {
		if digest, ok := strings.CutPrefix(text, checksum.SchemeZH+":"); ok && digest != shasum {
			e.failf("%s: packages: %s: %.80q is not the shasum, with digits in the same case", weburl.Redact(u), p.platform, text)
		}
	}
}

// statedHashes checks the stated hashes of an archive.
func (e *examiner) statedHashes(where string, list []string) []checksum.Hash {
	var hashes []checksum.Hash
	for _, text := range list {
		h, err := checksum.ParseHash(text)
		switch {
		case errors.Is(err, checksum.ErrEmptyHash):
			e.note(Advice, fmt.Sprintf("%s: %v", where, err))
		case err != nil:
			e.failf("%s: %w", where, err)
		default:
			hashes = append(hashes, h)
		}
	}
	return hashes
}

// checkable reports whether clients can compare h with an archive.
func checkable(h checksum.Hash) bool {
	return hashlist.Known(h)
}

// inspect downloads an archive and compares it with the stated hashes and size. Every stated
// hash must match.
func (e *examiner) inspect(u *url.URL, stated []checksum.Hash, size int64, executable string) error {
	r, err := e.ask(u, false, "Accept", "*/*", "Accept-Encoding", "identity")
	if err != nil {
		return err
	}
	if err := r.wantStatus(http.StatusOK); err != nil {
		return err
	}
	defer r.Body.Close()
	f, err := os.CreateTemp("", "regcheck-*.zip")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	limits := checksum.Limits{Package: maxArchive, Unpacked: maxUnpacked}
	n, err := io.Copy(f, io.LimitReader(r.Body, maxArchive+1))
	if err != nil {
		return failed(r.ctx, u, err)
	}
	if n > maxArchive {
		return fmt.Errorf("%s: more than %d bytes", weburl.Redact(u), int64(maxArchive))
	}
	if size > 0 && n != size {
		e.failf("%s: %d bytes, but package_size is %d", weburl.Redact(u), n, size)
	}
	var bytes checksum.Digester
	if _, err := bytes.ReadFrom(archive.Until(r.ctx, io.NewSectionReader(f, 0, n))); err != nil {
		return err
	}
	packed, tree, err := checksum.H1Zip(r.ctx, f, n, limits)
	if err != nil {
		return fmt.Errorf("%s: cannot be installed: %w", weburl.Redact(u), err)
	}
	for _, h := range stated {
		if computed := bytes.Digests(); checkable(h) && !slices.Contains(computed.Hashes, h) && h != packed && h != tree {
			e.failf("%s: does not have the hash %s, but %s and %s", weburl.Redact(u), h, computed.ZH(), packed)
		}
	}
	return hasExecutable(f, n, executable, weburl.Redact(u))
}

func (e *examiner) ranges() error {
	if e.insecure("download_url", e.pkg.url) {
		return nil
	}
	r, err := e.ask(e.pkg.url, false, "Accept", "*/*", "Range", "bytes=1-1")
	if err != nil {
		return nil // the check of the archive reports it
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusPartialContent {
		e.note(Advice, fmt.Sprintf("%s: status %d for a range request, want 206; clients cannot resume downloads", weburl.Redact(e.pkg.url), r.StatusCode))
	} else if tag := r.Header.Get("ETag"); (tag == "" || strings.HasPrefix(tag, "W/")) && r.Header.Get("Last-Modified") == "" {
		e.note(Advice, fmt.Sprintf("%s: no strong entity tag; clients that resume a download cannot detect a changed file", weburl.Redact(e.pkg.url)))
	}
	return nil
}

// hasExecutable returns an error if the archive does not have the executable of a provider.
func hasExecutable(r io.ReaderAt, size int64, name, where string) error {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	for _, f := range z.File {
		rest, ok := strings.CutPrefix(f.Name, name)
		if ok && path.Base(f.Name) == f.Name && (rest == "" || rest[0] == '_' || rest[0] == '.') {
			return nil
		}
	}
	return fmt.Errorf("%s: no executable: want a file %s, or one with _ or a dot after that name", where, name)
}
