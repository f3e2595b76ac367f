#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: build.sh program|libraries VARIANT KIND SOURCE-DIR OUTPUT-DIR COMPILER FLAG...
#
# Builds one variant of the stacks program (KIND is pie, nopie or static), or the libraries that its
# pie and nopie kinds share.
set -eu

what=$1 variant=$2 kind=$3 src=$4 out=$5
shift 5
# What is left is the compiler and its flags. -O2 and -g0: no LTO, no debug information.
sources="stacks oracle recursion callback dynamic realign noreturn prologue threads signal"

library() {
	name=$1
	shift
	"$@" -shared -fPIC -o "$out/$name-$variant.so"
}

if [ "$what" = libraries ]; then
	library libchain_first "$@" "$src/chain_first.c"
	library libchain_second "$@" "$src/chain_second.c"
	library liblazy "$@" "$src/lazy.c"
	needs_lazy="-L$out -l:liblazy-$variant.so -Wl,-rpath,$out"
	# shellcheck disable=SC2086
	{
		library plugin "$@" "$src/plugin.c" $needs_lazy -Wl,-z,lazy
		library plugin_now "$@" "$src/plugin.c" $needs_lazy -Wl,-z,now
		library plugin_ifunc "$@" "$src/plugin_ifunc.c" $needs_lazy -Wl,-z,lazy
	}
	exit
fi

files="$src/throw.cc"
for s in $sources; do
	files="$files $src/$s.c"
done
case $kind in
pie)
	link="-fPIE -pie"
	;;
nopie)
	link="-fno-pie -no-pie"
	;;
static)
	link="-static"
	files="$files $src/dynamic_link_none.c $src/chain_first.c $src/chain_second.c"
	;;
esac
if [ "$kind" != static ]; then
	files="$files $src/dynamic_link.c"
	link="$link -L$out -l:libchain_first-$variant.so -l:libchain_second-$variant.so -Wl,-rpath,$out"
	set -- "$@" "-DLIBRARY_DIR=\"$out\"" "-DVARIANT=\"-$variant\""
fi
# shellcheck disable=SC2086
"$@" $files -o "$out/stacks-$variant-$kind" $link -lstdc++ -pthread
