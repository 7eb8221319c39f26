package regcheck

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// checkedPackage is what is known of the package.
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

func (e *examiner) providerVersions() error {
	p := &e.pkg
	var ok bool
	if p.namespace, p.typ, ok = strings.Cut(e.o.Provider, "/"); !ok || strings.Contains(p.typ, "/") {
		return fmt.Errorf("the provider %q is not NAMESPACE/TYPE", e.o.Provider)
	}
	u := e.endpoint(providersService, p.namespace, p.typ, "versions")
	var doc struct {
		Versions []struct {
			Version   string
			Protocols []string
			Platforms []struct{ OS, Arch string }
		}
	}
	if _, err := e.document(u, maxDocument, true, &doc); err != nil {
		return err
	}
	found := false
	var seen []string
	for _, v := range doc.Versions {
		parsed, err := addrs.ParseVersion(v.Version)
		if err != nil {
			e.failf("%s: %w", shownURL(u), err)
			continue
		}
		seen = append(seen, parsed.String())
		e.protocols(fmt.Sprintf("%s: version %s", shownURL(u), parsed), v.Protocols)
		wanted := !found && (e.o.Version == "" || e.o.Version == v.Version || e.o.Version == parsed.String())
		for _, q := range v.Platforms {
			platform, err := addrs.NewPlatform(q.OS, q.Arch)
			if err != nil {
				e.failf("%s: version %s: %w", shownURL(u), parsed, err)
			} else if wanted && p.platform.IsZero() && (e.o.Platform == "" || e.o.Platform == platform.String()) {
				p.platform = platform
			}
		}
		if wanted {
			found, p.version = true, v.Version
		}
	}
	if twice := duplicate(seen); twice != "" {
		e.failf("%s: version %s is listed twice", shownURL(u), twice)
	}
	if !found {
		return notListed(u, e.o.Version, len(doc.Versions))
	}
	if p.platform.IsZero() {
		platform := e.o.Platform
		if platform == "" {
			platform = "linux_amd64"
		}
		var err error
		p.platform, err = addrs.ParsePlatform(platform)
		return err
	}
	return nil
}

func (e *examiner) protocols(where string, list []string) {
	for _, protocol := range list {
		if _, err := addrs.ParseVersion(protocol); err != nil {
			e.failf("%s: %q is not a plugin protocol", where, protocol)
		}
	}
}

// notListed is the error for a version that a list does not have.
func notListed(u *url.URL, version string, n int) error {
	if version == "" {
		return fmt.Errorf("%s: no version that can be asked for is in the list of %d", shownURL(u), n)
	}
	return fmt.Errorf("%s: version %q is not in the list of %d", shownURL(u), version, n)
}

func (e *examiner) providerPackage() error {
	p := &e.pkg
	u := e.endpoint(providersService, p.namespace, p.typ, p.version, "download", p.platform.OS(), p.platform.Arch())
	var doc struct {
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
	r, err := e.document(u, maxDocument, true, &doc)
	if err != nil {
		return err
	}
	if doc.OS != p.platform.OS() || doc.Arch != p.platform.Arch() {
		e.failf("%s: os is %q and arch is %q, want those of %s, which was asked for", shownURL(u), doc.OS, doc.Arch, p.platform)
	}
	if len(doc.Protocols) == 0 {
		e.note(Advice, shownURL(u)+": protocols is missing or empty: a client learns only from the archive whether it can start the provider")
	}
	e.protocols(shownURL(u), doc.Protocols)
	if p.filename = doc.Filename; p.filename == "" || strings.ContainsAny(p.filename, "/\\") || p.filename == ".." {
		e.failf("%s: filename %q is not the name of a file", shownURL(u), p.filename)
	}
	sum, err := hex.DecodeString(doc.Shasum)
	if err != nil || len(sum) != sha256.Size {
		e.failf("%s: shasum %q is not a SHA-256 in hexadecimal digits", shownURL(u), doc.Shasum)
	} else {
		p.hash = checksum.ZHSum([sha256.Size]byte(sum))
	}
	for _, f := range []struct {
		to            **url.URL
		property, ref string
	}{{&p.url, "download_url", doc.DownloadURL}, {&p.sumsURL, "shasums_url", doc.SumsURL}, {&p.signature, "shasums_signature_url", doc.SignatureURL}} {
		if *f.to, err = resolve(r.url, f.property, f.ref); err != nil {
			e.failf("%s: %w", shownURL(u), err)
		}
	}
	for _, k := range doc.SigningKeys.Keys {
		p.keys = append(p.keys, verify.Key{ID: k.ID, Armor: k.Armor})
	}
	if len(p.keys) == 0 {
		e.failf("%s: no signing keys: signing_keys.gpg_public_keys is missing or empty", shownURL(u))
	}
	e.statedPackages(u, doc.Packages, doc.Shasum)
	return nil
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
	var err error
	if p.sums, err = e.file(p.sumsURL, verify.MaxSums); err != nil {
		return err
	}
	sums, err := verify.ParseSums(p.sums)
	if err != nil {
		return fmt.Errorf("%s: %w", shownURL(p.sumsURL), err)
	}
	h, ok := sums.Lookup(p.filename)
	switch {
	case !ok:
		return fmt.Errorf("%s: it does not list %q, the filename of the package document", shownURL(p.sumsURL), p.filename)
	case h != p.hash:
		return fmt.Errorf("%s: the digest of %q is not the shasum of the package document", shownURL(p.sumsURL), p.filename)
	}
	return nil
}

func (e *examiner) signature() error {
	p := &e.pkg
	sig, err := e.file(p.signature, verify.MaxSignature)
	if err != nil {
		return err
	}
	if _, err := verify.CheckSignature(p.sums, sig, p.keys, time.Now()); err != nil {
		return fmt.Errorf("%s: %w", shownURL(p.signature), err)
	}
	return nil
}

func (e *examiner) archive() error {
	p := &e.pkg
	want := append(slices.Clone(p.stated), p.hash)
	return e.inspect(p.url, want, p.size, "terraform-provider-"+p.typ)
}

func (e *examiner) unknownProvider() error {
	p := &e.pkg
	e.unknown(e.endpoint(providersService, "regcheck-unknown", "regcheck-unknown", "versions"))
	e.unknown(e.endpoint(providersService, p.namespace, p.typ, "0.0.0-regcheck", "download", p.platform.OS(), p.platform.Arch()))
	return nil
}
