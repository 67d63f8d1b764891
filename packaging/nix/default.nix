# SPDX-License-Identifier: MIT OR Apache-2.0
# nix-build packaging/nix; the tree or a source archive that has the page in host/webui/dist/.
{ pkgs ? import <nixpkgs> { }, shimOnly ? false }:
let
  inherit (pkgs) lib stdenv;
in
stdenv.mkDerivation {
  pname = if shimOnly then "heapsonde-shims" else "heapsonde";
  version = "0.1.0";
  src = lib.cleanSourceWith {
    src = ../..;
    filter = path: type: lib.cleanSourceFilter path type && (type != "directory" || baseNameOf path != "build");
  };
  nativeBuildInputs = [ pkgs.cmake pkgs.ninja pkgs.pkg-config ];
  buildInputs = lib.optionals (!shimOnly) [
    pkgs.elfutils
    pkgs.libiberty
    pkgs.libmicrohttpd
    pkgs.curl
    pkgs.mosquitto
    pkgs.libsodium
    pkgs.ncurses
    pkgs.pcre2
    pkgs.zlib
    pkgs.zstd
  ];
  cmakeFlags = [
    "-DHEAPSONDE_TESTS=OFF"
    "-DHEAPSONDE_SHIM_ONLY=${if shimOnly then "ON" else "OFF"}"
    "-DHEAPSONDE_WEBUI=${if builtins.pathExists ../../host/webui/dist/manifest.txt then "dist" else "off"}"
  ];
  # The libraries that are preloaded take no options from outside: they run without a libc.
  hardeningDisable = [ "all" ];
  dontStrip = shimOnly;
  # They are loaded when they are needed, so that the linker notes no path for them.
  postFixup = lib.optionalString (!shimOnly) ''
    patchelf --add-rpath ${lib.makeLibraryPath [ pkgs.curl pkgs.libmicrohttpd pkgs.mosquitto ]} $out/bin/heapsonde
  '';
  meta = {
    description = "Memory profiler that needs no rebuild of the program";
    license = with lib.licenses; [ mit asl20 ];
    platforms = [ "x86_64-linux" "aarch64-linux" ] ++ lib.optionals shimOnly [ "armv7l-linux" "mips64el-linux" ];
    mainProgram = "heapsonde";
  };
}
