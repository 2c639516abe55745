package mysqltest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// logFileSize is the size of InnoDB's log of a MariaDB made here: its default of 96 MB would be most of a copy.
const logFileSize = "8M"

// templateVersion is part of a template's key: raise it when its making changes.
const templateVersion = "1"

// install makes a data folder by copying a template that is made once per server program and kept in the
// user's cache, or what a node of a cluster begins with.
func install(ctx context.Context, spec Spec, data string) (err error) {
	flavour, from := spec.Flavour, ""
	if spec.galera != nil {
		from = spec.galera.seed
	}
	if from == "" {
		if from, err = template(ctx, flavour); err != nil {
			return err
		}
	}
	// A copy that was cut short must not be taken for a data folder later.
	half := data + ".new"
	if err := errors.Join(os.RemoveAll(half), copyTree(half, from)); err != nil {
		return fmt.Errorf("mysqltest: copy data folder of %s: %w", flavour, err)
	}
	if err := os.Rename(half, data); err != nil {
		return fmt.Errorf("mysqltest: copy data folder of %s: %w", flavour, err)
	}
	return nil
}

// template gives the folder of a freshly made, cleanly stopped data folder without anonymous accounts. Packages
// are tested at the same time by several programs: each that finds none makes its own, and the first to rename
// it into place wins.
func template(ctx context.Context, flavour Flavour) (string, error) {
	source, key, err := templateKey(flavour)
	if err != nil {
		return "", err
	}
	var work, dir string
	var failed error
	for _, cache := range cacheDirs() {
		dir = filepath.Join(cache, key)
		if _, err := os.Stat(dir); err == nil {
			return dir, nil
		}
		if failed = os.MkdirAll(cache, 0o700); failed == nil {
			work, failed = os.MkdirTemp(cache, "making-")
		}
		if failed == nil {
			break
		}
	}
	if failed != nil {
		return "", fmt.Errorf("mysqltest: make template of %s: %w", flavour, failed)
	}
	defer os.RemoveAll(work)
	data := filepath.Join(work, "data")
	if flavour == FlavourMySQL56 {
		err = copyTree(data, filepath.Join(source, "data", "mysql"))
	} else {
		err = installMariaDB(ctx, source, data)
	}
	if err != nil {
		return "", fmt.Errorf("mysqltest: make template of %s: %w", flavour, err)
	}
	if err := cleanAccounts(ctx, Spec{Flavour: flavour, Dir: work}); err != nil {
		return "", err
	}
	// MySQL makes a server_uuid when it finds none: two servers must not share one.
	if err := os.Remove(filepath.Join(data, "auto.cnf")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("mysqltest: make template of %s: %w", flavour, err)
	}
	if err := os.Rename(data, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			return "", fmt.Errorf("mysqltest: make template of %s: %w", flavour, err)
		}
	}
	return dir, nil
}

// templateKey names the template after what it is made with; source is the installing program or the package.
func templateKey(flavour Flavour) (source, key string, err error) {
	var program string
	if flavour == FlavourMySQL56 {
		if source, err = findMySQL56(); err != nil {
			return "", "", err
		}
		program = filepath.Join(source, "mysqld")
	} else if program, source, err = findMariaDB(); err != nil {
		return "", "", err
	}
	info, err := os.Stat(program)
	if err != nil {
		return "", "", fmt.Errorf("mysqltest: make template of %s: %w", flavour, err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %d", templateVersion, program, info.Size(), info.ModTime().UnixNano()))
	name := "mariadb-"
	if flavour == FlavourMySQL56 {
		name = "mysql56-"
	}
	return source, name + hex.EncodeToString(sum[:6]), nil
}

// cacheDirs are the places for templates, the best first: in the user's own cache, or in the temporary folder for
// a user without a home to write to.
func cacheDirs() []string {
	dirs := []string{filepath.Join(os.TempDir(), "monolith-test-"+strconv.Itoa(os.Getuid()))}
	if own, err := os.UserCacheDir(); err == nil {
		dirs = append([]string{filepath.Join(own, "monolith-test")}, dirs...)
	}
	return dirs
}

func installMariaDB(ctx context.Context, program, data string) error {
	args := []string{"--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db",
		"--innodb-log-file-size=" + logFileSize, "--datadir=" + data}
	if os.Getuid() == 0 {
		args = append(args, "--user=root")
	}
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, out)
	}
	return nil
}

// cleanAccounts starts the server once, drops the anonymous accounts, which would catch every login from this
// host before an account at '%' does, and the schema "test", and stops it cleanly.
func cleanAccounts(ctx context.Context, spec Spec) (err error) {
	p, err := Launch(ctx, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop(ctx)) }()
	db, err := p.open()
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range []string{
		"DELETE FROM mysql.db",
		"DROP DATABASE IF EXISTS test",
		"FLUSH PRIVILEGES",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("mysqltest: clean accounts: %s: %w", statement, err)
		}
	}
	rows, err := db.QueryContext(ctx, "SELECT Host FROM mysql.user WHERE User = ''")
	if err != nil {
		return fmt.Errorf("mysqltest: clean accounts: %w", err)
	}
	defer rows.Close()
	var hosts []string
	for rows.Next() {
		var host string
		if err := rows.Scan(&host); err != nil {
			return fmt.Errorf("mysqltest: clean accounts: %w", err)
		}
		hosts = append(hosts, host)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("mysqltest: clean accounts: %w", err)
	}
	for _, host := range hosts {
		if _, err := db.ExecContext(ctx, "DROP USER ''@'"+host+"'"); err != nil {
			return fmt.Errorf("mysqltest: clean accounts: %w", err)
		}
	}
	return nil
}

// copyTree copies a folder of plain files; to must not exist.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o700)
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o600)
	})
}
