package regserve

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/serve/access"
	"github.com/tofureg/tofureg/serve/internal/webserve"
)

// packageName is the name of a module package below the path of its version.
const packageName = "package"

// module returns the module in the path of a request.
func (h *Handler) module(r *http.Request) (addrs.Module, error) {
	path := r.PathValue("namespace") + "/" + r.PathValue("name") + "/" + r.PathValue("system")
	source, err := addrs.ParseModuleSource(h.host() + "/" + path)
	if err != nil || source.Subdir != "" || !strings.HasSuffix(source.Module.String(), "/"+path) {
		return addrs.Module{}, webserve.ErrPath
	}
	return source.Module, nil
}

type moduleRelease struct {
	Version     string              `json:"version"`
	Deprecation *module.Deprecation `json:"deprecation,omitempty"`
	Discovered  time.Time           `json:"discovered,omitzero"`
}

func (h *Handler) moduleVersions(r *http.Request, of access.Entry) (any, error) {
	webserve.Note(r.Context(), webserve.Asked)
	versions, err := h.Modules.ModuleVersions(r.Context(), of.Module)
	if err == nil && versions == nil {
		err = errors.New("the source returned no versions")
	}
	if err != nil {
		return nil, err
	}
	list := make([]moduleRelease, 0, len(versions.Versions))
	for _, listed := range versions.Versions {
		list = append(list, moduleRelease{listed.Version.String(), listed.Deprecated, listed.Discovered})
	}
	return map[string]any{"modules": []any{map[string]any{"versions": list}}}, nil
}

// location returns the location of the requested package, and the digest for the URL of the package.
func (h *Handler) location(r *http.Request, of access.Entry) (loc *module.Location, digest string, err error) {
	found, digest, err := h.locations.find(r, h.server.Guard.Required(), of, func(ctx context.Context) (*module.Location, error) {
		return h.Modules.ModuleLocation(ctx, of.Module, of.Version)
	})
	if err != nil {
		return nil, "", err
	}
	own := *found
	return &own, digest, nil
}

// streamed reports whether h serves the package.
func (h *Handler) streamed(loc *module.Location) bool {
	if loc.Direct {
		return h.StreamModules || loc.UseRegistryCredentials
	}
	archive := loc.Archive != "" && loc.Archive != "none"
	return h.StreamModules && (loc.Kind == module.KindHTTP && archive || h.packed(loc))
}

// packed reports whether h makes an archive of the package.
func (h *Handler) packed(loc *module.Location) bool {
	o := h.ModuleOptions
	return o != nil && loc.Kind != module.KindHTTP && loc.Kind != module.KindLocal && (o.Fetcher != nil || loc.Kind == module.KindGit && o.Git != nil)
}

// moduleLocation sends the location in the body and the header, because Terraform before 1.12
// reads only the header. The header cannot express a location that the source serves itself.
func (h *Handler) moduleLocation(w http.ResponseWriter, r *http.Request, of access.Entry) error {
	return h.answerJSON(func(r *http.Request, of access.Entry) (any, error) {
		loc, digest, err := h.location(r, of)
		if err != nil {
			return nil, err
		}
		source := loc.Source()
		if h.streamed(loc) {
			source = h.packageSource(r, loc, digest)
		}
		doc := map[string]any{"location": source}
		if loc.Direct { // the registry serves the package at this URL
			doc["use_registry_credentials"] = false
		} else {
			w.Header().Set("X-Terraform-Get", source)
		}
		return doc, nil
	})(w, r, of)
}

// packageSource returns the location of a package that h serves.
func (h *Handler) packageSource(r *http.Request, loc *module.Location, digest string) string {
	path := strings.TrimSuffix(r.URL.Path, "download") + packageName
	if loc.Direct {
		return h.fileURL(r, path, digest)
	}
	streamed := *loc
	if h.packed(loc) {
		streamed = module.Location{Kind: module.KindHTTP, Archive: "tar.gz", Subdir: loc.Subdir}
	}
	streamed.URL = h.fileURL(r, path, digest)
	return streamed.Source()
}

func (h *Handler) modulePackage(w http.ResponseWriter, r *http.Request, of access.Entry) error {
	loc, _, err := h.location(r, of)
	if err != nil {
		return err
	}
	if !h.streamed(loc) {
		return webserve.ErrPath
	}
	s := &stream{handler: h, contentType: "application/octet-stream", open: func(ctx context.Context) (io.ReadCloser, int64, error) {
		if h.packed(loc) {
			return h.pack(ctx, of, loc)
		}
		body, err := h.Modules.OpenModule(ctx, loc)
		if err != nil {
			return nil, 0, err
		}
		if body.Next != "" {
			body.Close()
			return nil, 0, fmt.Errorf("module %s %s: the package refers to another location", loc.Module, loc.Version)
		}
		return body.ReadCloser, body.Size, nil
	}}
	return s.serve(w, r, "", 0)
}

// fixed is a source of modules that has asked for a location already.
type fixed struct {
	module.Source
	loc *module.Location
}

func (f fixed) ModuleLocation(context.Context, addrs.Module, addrs.Version) (*module.Location, error) {
	return f.loc, nil
}

// pack fetches a package and returns it as a tar archive with gzip.
func (h *Handler) pack(ctx context.Context, of access.Entry, loc *module.Location) (_ io.ReadCloser, size int64, err error) {
	dir, err := os.MkdirTemp(h.TempDir, "tofureg-module-*")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(dir)
	whole := *loc
	whole.Subdir = "" // which the client looks for
	request := module.Request{Source: addrs.ModuleSource{Module: of.Module}, Version: of.Version, Dir: filepath.Join(dir, "package")}
	report, err := module.Download(ctx, fixed{h.Modules, &whole}, request, *h.ModuleOptions) // as of a server, which must not name a local file
	if err != nil {
		return nil, 0, err
	}
	root, err := fsx.OpenRoot(report.Dir)
	if err != nil {
		return nil, 0, err
	}
	defer root.Close()
	f, err := fsx.Temp(h.TempDir)
	if err != nil {
		return nil, 0, err
	}
	packed := gzip.NewWriter(f)
	err = archive.WriteTree(packed, fsx.Tree(ctx, root), func(string) bool { return false })
	if err = cmp.Or(err, packed.Close()); err == nil {
		if size, err = f.Seek(0, io.SeekCurrent); err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
	}
	if err != nil {
		f.Discard()
		return nil, 0, err
	}
	return discarded{f}, size, nil
}

// discarded is a temporary file that is removed when it is closed.
type discarded struct{ *fsx.TempFile }

func (d discarded) Close() error {
	d.Discard()
	return nil
}
