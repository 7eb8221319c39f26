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
	if ref, err := url.Parse(doc.DownloadURL); err == nil && !ref.IsAbs() && doc.DownloadURL != "" {
		e.note(Advice, weburl.Redact(base)+": download_url is relative; some pull-through proxies do not support that")
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
	if p.sums, err = e.file(p.sumsURL, verify.MaxSums); err != nil {
		return err
	}
	sums, err := verify.ParseSums(p.sums)
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
	sig, err := e.file(p.signature, verify.MaxSignature)
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
