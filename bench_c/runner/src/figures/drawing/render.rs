//! Writes a drawing as SVG, and as PNG and, with the feature `pdf`, as PDF made from it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, fontdb};

use crate::figures::drawing::font;

/// Units of a drawing: half a point each.
#[cfg(feature = "pdf")]
const UNITS_PER_INCH: f32 = 144.0;
/// Pixels of a PNG file for a unit of the drawing.
const SCALE: f32 = 2.0;

/// Writes `base`.svg, .png and .pdf.
pub fn write_all(base: &Path, svg: &str) -> Result<Vec<PathBuf>> {
    let tree = tree(svg)?;
    let files = [
        ("svg", svg.as_bytes().to_vec()),
        ("png", png(&tree)?),
        #[cfg(feature = "pdf")]
        ("pdf", pdf(&tree)?),
    ];
    files
        .into_iter()
        .map(|(extension, bytes)| {
            let path = base.with_extension(extension);
            std::fs::write(&path, bytes)
                .with_context(|| format!("cannot write {}", path.display()))?;
            Ok(path)
        })
        .collect()
}

/// The drawing with its texts laid out in our font.
pub fn tree(svg: &str) -> Result<usvg::Tree> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(font::data().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let options = usvg::Options { fontdb: Arc::new(fonts), ..usvg::Options::default() };
    Ok(usvg::Tree::from_str(svg, &options)?)
}

fn png(tree: &usvg::Tree) -> Result<Vec<u8>> {
    let [width, height] =
        [tree.size().width(), tree.size().height()].map(|of| (of * SCALE).round());
    let mut pixels =
        Pixmap::new(width as u32, height as u32).ok_or_else(|| anyhow!("a figure of no size"))?;
    resvg::render(tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    Ok(pixels.encode_png()?)
}

/// The text of the PDF can be searched and copied.
#[cfg(feature = "pdf")]
fn pdf(tree: &usvg::Tree) -> Result<Vec<u8>> {
    use svg2pdf::{ConversionOptions, PageOptions};
    let page = PageOptions { dpi: UNITS_PER_INCH };
    svg2pdf::to_pdf(tree, ConversionOptions::default(), page).map_err(|e| anyhow!("PDF: {e}"))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    #[test]
    fn files_are_what_they_are_called() {
        let folder = std::env::temp_dir().join(format!("sched-bench-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" width="144" height="72"><text y="40" font-size="18" font-family="sans-serif">text</text></svg>"#;
        let paths = write_all(&folder.join("figure"), svg).unwrap();
        let start = |path: &Path| std::fs::read(path).unwrap()[..4].to_vec();
        let starts: Vec<Vec<u8>> = paths.iter().map(|path| start(path)).collect();
        assert_eq!(starts[..2], [b"<svg".to_vec(), b"\x89PNG".to_vec()]);
        #[cfg(feature = "pdf")]
        {
            assert_eq!(starts[2], b"%PDF");
            let pdf = String::from_utf8_lossy(&std::fs::read(&paths[2]).unwrap()).into_owned();
            assert!(pdf.contains("/MediaBox [0 0 72 36]"), "144 units are an inch");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_picture_has_ink_where_the_text_is() {
        let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" width="60" height="30" font-family="DejaVu Sans"><text y="20" font-size="18">M</text></svg>"#;
        let decoded = Pixmap::decode_png(&png(&tree(svg).unwrap()).unwrap()).unwrap();
        assert_eq!((decoded.width(), decoded.height()), (120, 60));
        assert!(decoded.pixels().iter().any(|pixel| pixel.alpha() > 200));
    }
}
