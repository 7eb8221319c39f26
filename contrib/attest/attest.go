// Package attest verifies who built a provider, by Sigstore attestations, such as GitHub Actions makes. It is
// experimental.
//
//	trusted, err := (&attest.TUF{Dir: cacheDir}).TrustedRoot(ctx) // or a file
//	v := &attest.Verifier{Root: trusted, Rule: attest.OnGitHub, Bundles: &attest.GitHub{Transport: web}}
//	installer := &install.Installer{
//		Source: v.Source(registry), Dir: dir,
//		Policy: func(p addrs.Provider) verify.Policy { return verify.Policy{Provenance: v.Provenance(p)} },
//	}
//
// A bundle is an attestation with its proof. It counts if it is SLSA provenance of a file with the SHA-256 of the archive,
// logs hold its signature and its certificate, the certificate was valid at a time that a log or an authority states, and it
// names the builder that Rule of [Verifier] returns. Verification makes no requests.
//
// [Verifier.Source] adds bundles to packages. Mirrors of [github.com/tofureg/tofureg/serve/mirrordir] keep them.
package attest

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
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/golang/snappy"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/tuf"
	sigstore "github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/theupdateframework/go-tuf/v2/metadata"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/transport/fetch"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// An Identity says who may build a provider. Issuer and Repository are required. An empty Workflow or Ref permits any of
// the repository, and so builds of branches and of other versions.
type Identity struct {
	Issuer     string // URL of the service that vouches for workflows, such as [GitHubIssuer]
	Repository string // URL of the source code, in any case
	Workflow   string // path in the repository, such as .github/workflows/release.yml; or URL of a reusable one, without ref
	Ref        string // pattern of [path.Match] for the git ref; "{version}" is the version of the provider
}

// GitHubIssuer vouches for the workflows of github.com.
const GitHubIssuer = "https://token.actions.githubusercontent.com"

// OnGitHub is the usual rule: NAMESPACE/terraform-provider-TYPE on github.com builds at the tag of the version. The
// providers hashicorp/TYPE of registry.opentofu.org are built by OpenTofu, in opentofu/terraform-provider-TYPE.
func OnGitHub(p addrs.Provider) Identity {
	owner := p.Namespace()
	if p.Host() == addrs.DefaultHost() && owner == "hashicorp" {
		owner = "opentofu"
	}
	return Identity{GitHubIssuer, "https://github.com/" + owner + "/terraform-provider-" + p.Type(), "", "refs/tags/v{version}"}
}

// ErrIdentity means that a valid attestation names another builder than the [Identity] permits.
var ErrIdentity = errors.New("another builder")

// A Verifier verifies attestations. It is safe for concurrent use as long as its fields do not change.
type Verifier struct {
	Root      []byte                        // trusted root of the Sigstore instance in JSON: see [TUF], and for tests the example TestRoot; required
	Rule      func(addrs.Provider) Identity // who may build, whatever the registry answers; the zero Identity permits no builder; required
	Bundles   Bundles                       // if not nil, it finds bundles that packages of a source lack
	AllowSums bool                          // also accepts provenance of the SHA256SUMS document that lists the archive
	NoLog     bool                          // a signed timestamp replaces logs, as with GitHub for private repositories
}

// Bundles finds Sigstore bundles. It must be safe for concurrent use.
type Bundles interface {
	// Bundles returns bundles in JSON, or none, about the archive or SHA256SUMS document of pkg with the hash zh, by builder.
	Bundles(ctx context.Context, builder Identity, pkg *provider.Package, zh checksum.Hash) ([]string, error)
}

// Source returns src with bundles in packages that have none. They are found by the zh that src states. An error of
// Bundles fails only packages whose policy demands provenance; under another policy, a mirror keeps the package without
// attestations. It does not unwrap, so that a server of a mirror behind it
// judges packages by its policy: see [provider.As].
func (v *Verifier) Source(src provider.Source) provider.Source { return &source{src, v} }

type source struct {
	provider.Source
	v *Verifier
}

func (s *source) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	pkg, err := s.Source.ProviderPackage(ctx, p, v, on)
	if err != nil || pkg == nil || len(pkg.Attestations) > 0 || s.v.Bundles == nil {
		return pkg, err
	}
	builder, zh := s.v.identity(p), checksum.WithScheme(pkg.Evidence().Hashes, checksum.SchemeZH)
	if len(zh) != 1 || builder == (Identity{}) {
		return pkg, nil
	}
	pkg = pkg.Clone() // src may have kept it
	pkg.Attestations, err = s.v.Bundles.Bundles(ctx, builder, pkg, zh[0])
	if err == nil && len(pkg.Attestations) == 0 && s.v.AllowSums && pkg.SumsURL != "" {
		var ev verify.Evidence
		if ev, err = s.Evidence(ctx, pkg); err == nil {
			pkg.Attestations, err = s.v.Bundles.Bundles(ctx, builder, pkg, checksum.ZHSum(sha256.Sum256(ev.Sums)))
		}
	}
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	if err != nil {
		pkg.Attestations, pkg.AttestationError = nil, failure.Wrap("find attestations of", pkg.String(), err)
	}
	return pkg, nil
}

// Provenance returns the [verify.Policy.Provenance] for p.
func (v *Verifier) Provenance(p addrs.Provider) verify.Provenance {
	return provenance{v, v.identity(p)}
}

func (v *Verifier) identity(p addrs.Provider) (id Identity) {
	if v.Rule != nil {
		id = v.Rule(p)
	}
	return id
}

type provenance struct {
	*Verifier
	want Identity
}

// Builder returns the builder that the first acceptable bundle names.
func (p provenance) Builder(ctx context.Context, ev verify.Evidence, zh checksum.Hash) (by verify.Build, err error) {
	if p.want.Issuer == "" || p.want.Repository == "" {
		return by, fmt.Errorf("%w: Verifier.Rule names no issuer or repository", verify.ErrPolicy)
	}
	library, err := p.library()
	if err != nil {
		return by, fmt.Errorf("%w: Verifier.Root: %w", verify.ErrPolicy, err)
	}
	digests := []string{zh.Value()}
	if sums, err := verify.ParseSums(ev.Sums); p.AllowSums && err == nil {
		if listed, _ := sums.Lookup(ev.Filename); listed == zh {
			digests = append(digests, checksum.ZHSum(sha256.Sum256(ev.Sums)).Value())
		}
	}
	failures := []error{fmt.Errorf("none of %d attestations is acceptable", len(ev.Attestations))}
	if len(ev.Attestations) == 0 {
		failures[0] = errors.New("the package has no attestation; Verifier.Source finds them in Verifier.Bundles")
	}
	for i, text := range ev.Attestations[:min(len(ev.Attestations), MaxBundles)] {
		for _, digest := range digests {
			if ctx.Err() != nil {
				return by, ended(ctx)
			}
			by, err := p.verify(library, text, "sha256", digest, ev.Requested)
			if err == nil {
				return by, nil
			}
			failures = append(failures, &refused{fmt.Sprintf("attestation %d: %s", i+1, failure.Printable(err.Error(), 500)), err})
		}
	}
	if p.AllowSums && ev.Sums == nil {
		failures = append(failures, fmt.Errorf("%w: SHA256SUMS is not known", verify.ErrNotStated))
	}
	return by, errors.Join(failures...)
}

// library returns the verifier of the library.
func (v *Verifier) library() (*sigstore.Verifier, error) {
	options := []sigstore.VerifierOption{sigstore.WithoutStatementPredicate(), sigstore.WithSignedTimestamps(1)}
	if !v.NoLog {
		options = append(options[:1], sigstore.WithSignedCertificateTimestamps(1), sigstore.WithTransparencyLog(1), sigstore.WithObserverTimestamps(1))
	}
	trusted, err := root.NewTrustedRootFromJSON(v.Root)
	if err != nil {
		return nil, err
	}
	return sigstore.NewVerifier(trusted, options...)
}

// verify verifies a bundle about the file with this digest. requested is TYPE_VERSION_OS_ARCH.
func (p provenance) verify(library *sigstore.Verifier, text, algorithm, digest, requested string) (by verify.Build, err error) {
	b, err := parse(text)
	if err != nil {
		return by, err
	}
	sum, _ := hex.DecodeString(digest) // of a Hash
	// Identity.check replaces the identities of the library, which have neither names in any case nor patterns.
	r, err := library.Verify(b, sigstore.NewPolicy(sigstore.WithArtifactDigest(algorithm, sum), sigstore.WithoutIdentitiesUnsafe()))
	if err != nil {
		return by, err
	}
	kind := r.Statement.GetPredicateType()
	if r.Signature.Certificate == nil || kind != "https://slsa.dev/provenance/v1" && kind != "https://slsa.dev/provenance/v0.2" {
		return by, fmt.Errorf("it has no certificate, or is not SLSA provenance: %.100q", kind)
	}
	c := r.Signature.Certificate.Extensions
	by = verify.Build{
		Issuer: c.Issuer, Repository: c.SourceRepositoryURI, Ref: c.SourceRepositoryRef, Commit: c.SourceRepositoryDigest,
		Workflow: c.BuildSignerURI, Time: r.VerifiedTimestamps[0].Timestamp.UTC(),
	}
	return by, p.want.check(c, requested)
}

// check compares the identity with the extensions of a certificate.
func (id Identity) check(c certificate.Extensions, requested string) error {
	workflow, ref := id.Workflow, id.Ref
	if workflow != "" && !strings.Contains(workflow, "://") {
		workflow = c.SourceRepositoryURI + "/" + workflow
	}
	signer := c.BuildSignerURI[:max(0, strings.LastIndexByte(c.BuildSignerURI, '@'))] // names of files may have "@"
	if parts := strings.Split(requested, "_"); len(parts) == 4 {
		ref = strings.ReplaceAll(ref, "{version}", parts[1])
	}
	matches, _ := path.Match(ref, c.SourceRepositoryRef) // an invalid pattern matches nothing
	differs := func(what, got, want string) error {
		return fmt.Errorf("%w: %s %.200q, want %.200q", ErrIdentity, what, got, want)
	}
	switch {
	case c.Issuer != id.Issuer:
		return differs("issuer", c.Issuer, id.Issuer)
	case !strings.EqualFold(c.SourceRepositoryURI, id.Repository):
		return differs("repository", c.SourceRepositoryURI, id.Repository)
	case workflow != "" && signer != workflow:
		return differs("workflow", signer, workflow)
	case ref != "" && !matches:
		return differs("ref", c.SourceRepositoryRef, ref)
	}
	return nil
}

// Limits of bundles, which are checked before a library parses the text or the part.
const (
	MaxBundles = 30      // bundles of an archive that are considered
	MaxBundle  = 1 << 20 // bytes of a bundle in JSON
	maxAnswer  = 8 << 20 // bytes of an answer with several
	maxDepth   = 50      // objects and lists in each other
	maxMembers = 20_000  // commas
	maxParts   = 10      // certificates, timestamps and log entries, together
	maxEntries = 2       // log entries, each of which may cost a verification with a large key
	maxPart    = 16 << 10
)

// parse parses a bundle within the limits.
func parse(text string) (*bundle.Bundle, error) {
	pb := new(protobundle.Bundle)
	err := checkJSON(text)
	if err == nil {
		err = protojson.Unmarshal([]byte(text), pb)
	}
	if err != nil {
		return nil, err
	}
	m := pb.GetVerificationMaterial()
	parts := [][]byte{m.GetCertificate().GetRawBytes()}
	for _, c := range m.GetX509CertificateChain().GetCertificates() {
		parts = append(parts, c.GetRawBytes())
	}
	for _, t := range m.GetTimestampVerificationData().GetRfc3161Timestamps() { // their parser recurses
		parts = append(parts, t.GetSignedTimestamp())
	}
	err = checkJSON(string(pb.GetDsseEnvelope().GetPayload()))
	for _, e := range m.GetTlogEntries() {
		parts, err = append(parts, e.GetCanonicalizedBody()), cmp.Or(err, checkJSON(string(e.GetCanonicalizedBody())))
	}
	switch {
	case err != nil:
		return nil, err
	case len(m.GetTlogEntries()) > maxEntries, len(parts) > maxParts,
		slices.ContainsFunc(parts, func(part []byte) bool { return len(part) > maxPart }):
		return nil, fmt.Errorf("certificates, timestamps and log entries: %w", failure.ErrTooLarge)
	}
	for _, e := range m.GetTlogEntries() {
		if err := checkEntry(e.GetCanonicalizedBody()); err != nil {
			return nil, err
		}
	}
	return bundle.NewBundle(pb)
}

// checkEntry returns an error if the body of a log entry has content that no log keeps: the parser would verify each
// signature in it with each key in it.
func checkEntry(body []byte) error {
	d := json.NewDecoder(bytes.NewReader(body))
	for {
		token, err := d.Token()
		if name, _ := token.(string); strings.EqualFold(name, "proposedContent") || strings.EqualFold(name, "payload") {
			return fmt.Errorf("log entry with %q, which is not kept in logs", name)
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("log entry: %w", err)
		}
	}
}

// checkJSON returns an error if a document exceeds a limit before its first syntax error.
func checkJSON(text string) error {
	depth, members, quoted, over := 0, 0, false, len(text) > MaxBundle
	for i := 0; i < len(text) && !over; i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\':
			i++
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',':
			members++
		}
		over = depth > maxDepth || members > maxMembers
	}
	if over {
		return fmt.Errorf("bundle: %w: more than %d bytes, %d levels or %d members", failure.ErrTooLarge, MaxBundle, maxDepth, maxMembers)
	}
	return nil
}

// ErrRateLimit means that GitHub permits no requests for some time, which RetryAfter of the [*failure.RequestError] tells.
var ErrRateLimit = errors.New("the rate limit of GitHub is exceeded")

// GitHub finds bundles with the attestations API of GitHub. Of an archive, it returns the first [MaxBundles].
type GitHub struct {
	Transport *transport.Settings // its token for the host of API is sent to this host only; GitHub permits few requests without
	API       string              // URL; if empty, https://api.github.com, which has repositories of github.com only
}

// nextPage finds the cursor in a Link header. The rest of the URL is not used, so that the token goes nowhere else.
var nextPage = regexp.MustCompile(`[?&]after=([\w%.~=+/-]+)[^<>]*>; *rel="next"`)

// Bundles implements [Bundles].
func (g *GitHub) Bundles(ctx context.Context, builder Identity, _ *provider.Package, zh checksum.Hash) (found []string, err error) {
	name := strings.Split(builder.Repository, "/") // https://HOST/OWNER/REPOSITORY
	if len(name) != 5 || g.API == "" && !strings.EqualFold(name[2], "github.com") {
		return nil, nil
	}
	base, err := url.Parse(cmp.Or(g.API, "https://api.github.com"))
	if err != nil || base.User != nil || base.Fragment != "" {
		return nil, errors.New("GitHub.API: want the URL of a host, such as https://github.example.com/api/v3")
	}
	base.Path = "/" + strings.TrimPrefix(base.Path, "/") // JoinPath keeps a relative path relative
	base = base.JoinPath("repos", url.PathEscape(name[3]), url.PathEscape(name[4]), "attestations", "sha256:"+zh.Value())
	r := fetch.Request{URL: base, Limit: maxAnswer}
	r.TokenFor, _ = svchost.FromWire(base.Host) // which is valid
	r.URL.RawQuery = fmt.Sprintf("per_page=%d", MaxBundles)
	for seen := 0; ; {
		resp, err := fetch.Document(ctx, g.Transport, r)
		e, failed := err.(*failure.RequestError)
		switch {
		case errors.Is(err, failure.ErrNotFound):
			return found, nil
		case failed && (e.Status == 429 || e.Status == 403 && (e.Message == "" && e.RetryAfter > 0 || strings.Contains(e.Message, "rate limit"))):
			return nil, e.Because(fmt.Errorf("%w for %v; a token for %s raises it: %w", ErrRateLimit, e.RetryAfter.Round(time.Second), base.Host, e.Err))
		case err != nil:
			return nil, err
		}
		var page struct {
			Attestations []struct {
				Bundle    json.RawMessage
				BundleURL string `json:"bundle_url"`
			}
		}
		if bytes.Count(resp.Body, []byte{','}) >= MaxBundles*maxMembers { // decoded, they take up to a hundred times their size
			err = fmt.Errorf("more than %d members: %w", MaxBundles*maxMembers, failure.ErrTooLarge)
		} else {
			err = resp.DecodeJSON(&page)
		}
		if err != nil {
			return nil, resp.Unusable(err)
		}
		var broken error
		for _, a := range page.Attestations[:min(len(page.Attestations), MaxBundles-seen)] {
			text := string(a.Bundle)
			if text == "" || text == "null" {
				text, broken = download(ctx, g.Transport, resp, a.BundleURL)
			}
			switch {
			case ctx.Err() != nil:
				return nil, ended(ctx)
			case provider.IsFault(broken): // a later call may get it, and mirrors keep what this one returns
				return nil, broken
			case len(text) > MaxBundle:
				broken = resp.Unusable(fmt.Errorf("bundle of %d bytes: %w", len(text), failure.ErrTooLarge))
			case text != "":
				found = append(found, text)
			}
		}
		seen += len(page.Attestations)
		link := nextPage.FindStringSubmatch(strings.Join(resp.Header.Values("Link"), ","))
		switch {
		case len(found) == 0 && broken != nil:
			return nil, broken
		case link == nil, len(page.Attestations) == 0, seen >= MaxBundles:
			return found, nil
		}
		r.URL.RawQuery = fmt.Sprintf("per_page=%d&after=%s", MaxBundles, link[1])
	}
}

// download fetches a bundle from a URL in an answer, without a token.
func download(ctx context.Context, t *transport.Settings, answer *fetch.Response, from string) (string, error) {
	u, err := url.Parse(from)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || strings.ContainsAny(from, ` \`) {
		return "", answer.Unusable(errors.New("bundle_url: invalid URL"))
	}
	if u.Scheme != "https" && (t == nil || !t.AllowHTTP) {
		return "", answer.Unusable(fmt.Errorf("bundle_url: %w: scheme %q, want https", failure.ErrInsecure, u.Scheme))
	}
	resp, err := fetch.Document(ctx, t, fetch.Request{URL: u, Limit: MaxBundle})
	if err != nil {
		return "", err
	}
	if n, _ := snappy.DecodedLen(resp.Body); n > MaxBundle {
		return "", resp.Unusable(fmt.Errorf("bundle of %d bytes: %w", n, failure.ErrTooLarge))
	}
	text, err := snappy.Decode(nil, resp.Body)
	if err != nil {
		return "", resp.Unusable(err)
	}
	return string(text), nil
}

// Beside finds one bundle in a file beside the archive, with ".sigstore.json" after its name, also at a file URL. Requests
// have the query of the archive's URL, such as a shared access signature of its directory, and no token.
type Beside struct{ Transport *transport.Settings }

// Bundles implements [Bundles].
func (b *Beside) Bundles(ctx context.Context, _ Identity, pkg *provider.Package, _ checksum.Hash) ([]string, error) {
	u, err := url.Parse(pkg.URL)
	if err != nil || u.Path == "" {
		return nil, nil // an error would contain the URL
	}
	var data []byte
	u = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path + ".sigstore.json", RawQuery: u.RawQuery}
	if u.Scheme == "file" {
		data, err = read(strings.TrimPrefix(filepath.FromSlash(u.Path), `\`)) // \C:\ on Windows
	} else if resp, failed := fetch.Document(ctx, b.Transport, fetch.Request{URL: u, Limit: MaxBundle}); failed != nil {
		err = failed
	} else {
		data = resp.Body
	}
	if errors.Is(err, failure.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return []string{string(data)}, err
}

// TUF fetches the trusted root of a Sigstore instance by The Update Framework. The zero value is for the public instance.
type TUF struct {
	Dir       string              // keeps a root for a day, and must be safe from other users; if empty, nothing is kept
	URL       string              // of the repository; if empty, the public instance
	Root      []byte              // first root.json of the repository; required with URL
	Transport *transport.Settings // settings of requests, which have no token
}

// TrustedRoot returns the trusted root in JSON.
func (t *TUF) TrustedRoot(ctx context.Context) (data []byte, err error) {
	options := tuf.Options{RepositoryBaseURL: t.URL, Root: t.Root, CachePath: t.Dir, DisableLocalCache: t.Dir == "", CacheValidity: 1}
	if t.URL == "" {
		options.RepositoryBaseURL, options.Root = tuf.DefaultMirror, tuf.DefaultRoot()
	}
	options.Fetcher = fetcher(func(from string, limit int64) ([]byte, error) {
		u, _ := url.Parse(from) // nil is refused
		resp, err := fetch.Document(ctx, t.Transport, fetch.Request{URL: u, Limit: limit})
		if errors.Is(err, failure.ErrNotFound) {
			return nil, &metadata.ErrDownloadHTTP{StatusCode: 404, URL: from} // after the last root
		}
		if err != nil {
			return nil, err
		}
		return resp.Body, nil
	})
	client, err := tuf.New(&options)
	if err == nil {
		data, err = client.GetTarget("trusted_root.json")
	}
	if err != nil {
		// The library does not replace what it cannot read. Ignoring it would permit an older state of the repository.
		if file := damaged(t.Dir); file != "" {
			err = fmt.Errorf("%w; %q is damaged; remove its directory", err, file)
		}
	}
	return data, failure.Wrap("fetch the trusted root of", options.RepositoryBaseURL, err)
}

// damaged returns a file in the directory of a TUF that is not JSON, or "". Other errors may come from the server, which
// must not make users remove the directory.
func damaged(dir string) (found string) {
	if dir == "" {
		return ""
	}
	_ = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if data, err := read(name); err == nil && !json.Valid(data) {
				found = name
			}
		}
		return nil
	})
	return found
}

type fetcher func(from string, limit int64) ([]byte, error)

func (f fetcher) DownloadFile(from string, n int64, _ time.Duration) ([]byte, error) {
	return f(from, n)
}

// read reads a regular file of at most MaxBundle bytes. It does not wait for a pipe.
func read(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("exists and is not a regular file")}
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxBundle+1))
	if len(data) > MaxBundle {
		return nil, fmt.Errorf("%q has more than %d bytes: %w", name, MaxBundle, failure.ErrTooLarge)
	}
	return data, err
}

// refused is an error with another text.
type refused struct {
	text string
	err  error
}

func (r *refused) Error() string { return r.text }
func (r *refused) Unwrap() error { return r.err }

// ended returns the error of a context that has ended, with its cause.
func ended(ctx context.Context) error {
	if err, cause := ctx.Err(), context.Cause(ctx); !errors.Is(cause, err) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return context.Cause(ctx)
}
