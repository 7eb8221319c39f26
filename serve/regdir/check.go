package regdir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// CheckOptions are the options of [Registry.Check].
type CheckOptions struct {
	Archives bool // verify the archives as a client does; if false, only compare their sizes
}

// CheckResult is the result of [Registry.Check].
type CheckResult struct {
	Versions int       `json:"versions"` // listed
	Problems []Problem `json:"problems"` // in the order of [Registry.All]
}

// OK reports whether there are no problems.
func (r *CheckResult) OK() bool { return len(r.Problems) == 0 }

// Problem is what breaks clients of a version.
type Problem struct {
	Subject string `json:"subject"` // such as "registry.example.com/acme/demo 1.0.0 linux_amd64"
	Detail  string `json:"detail"`  // one line
}

// Check reports documents of listed versions that differ from the record, files that are missing or have another size,
// hashes that SHA256SUMS does not list, and signatures that the zero [verify.Policy] refuses. It changes nothing.
// Problems cause no error.
func (r *Registry) Check(ctx context.Context, o CheckOptions) (*CheckResult, error) {
	result := &CheckResult{}
	found := func(subject string, err error) {
		if err != nil && ctx.Err() == nil {
			result.Problems = append(result.Problems, Problem{subject, fault.Text(err)})
		}
	}
	for l, err := range r.All(ctx) {
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			found("the registry", err)
			continue
		}
		result.Versions++
		if l.Provider.IsZero() {
			subject := l.Module.String() + " " + l.Version.String()
			i, err := r.moduleItem(l.Module, l.Version)
			if err == nil {
				err = r.checkDocuments(ctx, i)
			}
			found(subject, err)
			found(subject, r.checkModule(ctx, l, o))
			continue
		}
		i, err := r.providerItem(l.Provider, l.Version)
		if err == nil {
			err = r.checkDocuments(ctx, i)
		}
		found(l.Provider.String()+" "+l.Version.String(), err)
		for _, on := range l.Platforms {
			found(i.pkg(on).String(), r.checkPackage(ctx, l, on, o))
		}
	}
	if ctx.Err() != nil {
		return nil, failure.Wrap("check", "the registry", fault.Ended(ctx))
	}
	return result, nil
}

// checkDocuments compares the documents about a version with its record.
func (r *Registry) checkDocuments(ctx context.Context, i item) error {
	_, rec, err := r.readRecord(ctx, i)
	if err == nil && rec == nil {
		err = fmt.Errorf("%s is missing: %w", i.record(), failure.ErrNotFound)
	}
	if err != nil {
		return err
	}
	steps, _, err := (&version{item: i, rec: rec}).render(rec)
	if err != nil {
		return err
	}
	for _, s := range steps {
		doc, err := stored.Read(ctx, r.Store, s.Name)
		if err == nil && !bytes.Equal(doc.Data, s.Data) {
			err = fmt.Errorf("%s differs from the record of the version; publish the version again", s.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkPackage checks the evidence about an archive, and the archive.
func (r *Registry) checkPackage(ctx context.Context, l Listed, on addrs.Platform, o CheckOptions) error {
	pkg, err := r.ProviderPackage(ctx, l.Provider, l.Version, on)
	if err != nil {
		return err
	}
	if o.Archives {
		return r.inTemp(func(dir string) error {
			_, err := provider.Download(ctx, r, pkg, filepath.Join(dir, pkg.ArchiveName()), provider.DownloadOptions{})
			return err
		})
	}
	ev, err := r.Evidence(ctx, pkg)
	if err != nil {
		return err
	}
	sums, err := verify.Policy{}.CheckSums(ev)
	if err == nil {
		_, err = sums.JudgeStated(ctx, ev)
	}
	if err != nil {
		return err
	}
	body, err := r.Open(ctx, pkg)
	if err == nil {
		err = errors.Join(sized(body.Size, pkg.Size), body.Close())
	}
	return err
}

// checkModule checks the archive of a module.
func (r *Registry) checkModule(ctx context.Context, l Listed, o CheckOptions) error {
	if o.Archives {
		return r.inTemp(func(dir string) error {
			request := module.Request{Source: addrs.ModuleSource{Module: l.Module}, Version: l.Version, Dir: filepath.Join(dir, "module")}
			_, err := module.Download(ctx, r, request, module.Options{})
			return err
		})
	}
	i, err := r.moduleItem(l.Module, l.Version)
	if err != nil {
		return err
	}
	_, a, err := r.published(ctx, i, addrs.Platform{})
	if err != nil {
		return err
	}
	at, err := r.ModuleLocation(ctx, l.Module, l.Version)
	if err != nil {
		return err
	}
	body, err := r.OpenModule(ctx, at)
	if err == nil {
		err = errors.Join(sized(body.Size, a.Size), body.Close())
	}
	return err
}

func sized(is, want int64) error {
	if is != want {
		return fmt.Errorf("the archive has %d bytes, and %d by the record", is, want)
	}
	return nil
}

func (r *Registry) inTemp(do func(dir string) error) error {
	dir, err := os.MkdirTemp(r.TempDir, "tofureg-")
	if err != nil {
		return err
	}
	return errors.Join(do(dir), os.RemoveAll(dir))
}
