// Package s3 fetches module packages from Amazon S3 and from object stores that speak its
// protocol.
//
//	options := module.Options{Fetcher: &s3.Fetcher{Credentials: config.Credentials, Region: config.Region}}
//	report, err := module.Download(ctx, registry, source, version, dir, options)
//
// The requests for objects are made by [github.com/tofureg/tofureg/regclient.Client], so its
// limits, retries and settings hold. A location is an archive or, if its path ends neither
// with the suffix of an archive nor has the parameter "archive", a directory of objects:
//
//	s3::https://s3.amazonaws.com/BUCKET/KEY.zip
//	s3::https://s3-REGION.amazonaws.com/BUCKET/KEY.zip
//	BUCKET.s3.REGION.amazonaws.com/KEY.tar.gz
//	s3::https://store.example.com/BUCKET/DIRECTORY?region=REGION
//
// A location may come from a registry that somebody else runs, and the credentials are the
// caller's: [Fetcher.Hosts] limits the stores that get a signed request.
//
// go-getter fetches from the same locations, and from Google Cloud Storage and Mercurial
// too, at the cost of some 790 packages. It takes neither an HTTP client nor limits for
// object stores. A program that has it already wraps it in ten lines:
//
//	type Getter struct{}
//
//	func (Getter) FetchModule(ctx context.Context, loc *module.Location, dir string) error {
//		client := &getter.Client{
//			Ctx: ctx, Src: loc.Source(), Dst: filepath.Join(dir, "package"), Mode: getter.ClientModeDir,
//			DisableSymlinks: true,
//		}
//		return client.Get()
//	}
//
// The package links 12 modules beside those of the core, and adds 2 MB to a program.
package s3
